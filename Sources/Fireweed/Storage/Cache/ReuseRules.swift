// The rules for reusing a stored response (RFC 9111 §4, §5.2; RFC 5861; RFC 8246).

import Foundation
import FoundationNetworking

/// The cache's decision about a request.
enum CacheDecision: Sendable {
    /// Answer with the stored response; with `refreshes`, the response is validated at the same time (RFC 5861 §3).
    case answer(StoredHead, refreshes: Bool)
    /// Validate the stored response; with `toleratesError`, the response also answers when the origin fails (RFC 5861
    /// §4).
    case validate(StoredHead, toleratesError: Bool)
    /// Send the request to the origin.
    case fetch
    /// Answer with 504: the client accepts only a stored response, and none is suitable (§5.2.1.7).
    case gatewayTimeout
    /// Fail: the policy accepts only a stored response, and there is none.
    case fail
}

/// The rules for using stored responses, on plain values.
enum ReuseRules {
    /// Decides about a request; `stored` is the selected response (§4.1), if there is one.
    static func decide(_ request: CacheQuery, stored: StoredHead?, now: Date) -> CacheDecision {
        switch request.policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return .fetch
        case .returnCacheDataElseLoad: return stored.map { .answer($0, refreshes: false) } ?? .fetch
        case .returnCacheDataDontLoad: return stored.map { .answer($0, refreshes: false) } ?? .fail
        case .reloadRevalidatingCacheData: return stored.map { reload($0, now: now) } ?? .fetch
        default: return decideByProtocol(request, stored: stored, now: now)
        }
    }

    /// Validates every response except a fresh one that is `immutable` (RFC 8246 §2) and has no `no-cache`.
    private static func reload(_ stored: StoredHead, now: Date) -> CacheDecision {
        let state = FreshnessState(stored, now: now)
        if state.control.isImmutable, state.isFresh, !state.control.noCache {
            return .answer(stored, refreshes: false)
        }
        return .validate(stored, toleratesError: false)
    }

    private static func decideByProtocol(_ request: CacheQuery, stored: StoredHead?, now: Date) -> CacheDecision {
        let policy = request.facts.control
        guard let stored else { return policy.onlyIfCached ? .gatewayTimeout : .fetch }
        let state = FreshnessState(stored, now: now)
        switch state.suitability(to: policy) {
        case .suitable: return .answer(stored, refreshes: false)
        case .suitableWhileRevalidating where !policy.onlyIfCached: return .answer(stored, refreshes: true)
        case .suitableWhileRevalidating, .unsuitable:
            if policy.onlyIfCached { return .gatewayTimeout }
            return .validate(stored, toleratesError: state.toleratesError(policy))
        }
    }
}

/// Age, lifetime and directives of a stored response at a moment.
private struct FreshnessState {
    enum Suitability { case suitable, suitableWhileRevalidating, unsuitable }

    let control: CacheControl
    let age: TimeInterval
    let lifetime: TimeInterval

    init(_ stored: StoredHead, now: Date) {
        control = CacheControl(stored.response.value(of: "Cache-Control"))
        age = Freshness.age(of: stored, at: now)
        lifetime = Freshness.lifetime(of: stored, control: control)
    }

    /// Whether the response is fresh: its lifetime exceeds its age (§4.2).
    var isFresh: Bool { lifetime > age }
    /// For how many seconds the response has been stale.
    private var staleness: TimeInterval { age - lifetime }

    /// Whether the response may be used without validation (§4, §5.2.1).
    func suitability(to policy: CacheControl) -> Suitability {
        if policy.noCache || control.noCache { return .unsuitable }
        if let maxAge = policy.maxAge, age > maxAge { return .unsuitable }
        if let minFresh = policy.minFresh, lifetime - age < minFresh { return .unsuitable }
        if isFresh { return .suitable }
        if control.mustRevalidate { return .unsuitable }  // §5.2.2.2
        switch policy.maxStale {
        case .any: return .suitable
        case .seconds(let limit) where staleness <= limit: return .suitable
        case .seconds, nil: break
        }
        // A request with `max-age` accepts a stale response only if it has `max-stale` too (§5.2.1.1).
        if let window = control.staleWhileRevalidate, staleness <= window, policy.maxAge == nil {
            return .suitableWhileRevalidating
        }
        return .unsuitable
    }

    /// Whether the response may be used when the origin fails (RFC 5861 §4), as the response or the request says.
    func toleratesError(_ policy: CacheControl) -> Bool {
        // A request with `no-cache` accepts no stored response without validation (RFC 9111 §5.2.1.4).
        guard !control.mustRevalidate, !control.noCache, !policy.noCache else { return false }
        let windows = [control.staleIfError, policy.staleIfError].compactMap { $0 }
        return windows.contains { staleness <= $0 }
    }
}
