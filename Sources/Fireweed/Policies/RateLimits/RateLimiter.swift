// An interceptor that keeps to rate limits.

import Dispatch
import FireweedTransport
import Foundation
public import FoundationNetworking
import Synchronization

/// Holds requests back so that they keep to a rate limit and to the limits that their servers announce.
///
/// Every attempt of a request takes a slot, retries included. Requests of one key wait in the order in which they came;
/// a waiting request holds no thread and no task. A request that is cancelled while it waits ends at once and takes no
/// slot. Event monitors are notified of waiting requests by `request(_:isWaitingForRateLimit:)`.
///
/// A server's fields apply to all requests of a key: a 429 or 503 with `Retry-After` holds them back for that time, and
/// so does a used-up quota in `RateLimit` or `X-RateLimit-…` fields. The limiter retries nothing: combine it with a
/// `RetryPolicy`, whose retries wait for their slots like other requests.
///
/// ```swift
/// let session = Session(interceptor: RateLimiter(RateLimit(100, per: .seconds(1), burst: 10)))
/// ```
public final class RateLimiter: RequestInterceptor {
    /// Which requests share a limit.
    public enum Scope: Sendable {
        /// Requests with the same scheme, host and port.
        case origin
        /// All requests.
        case all
        /// Requests for which the closure gives the same text; `nil` for a request without a limit.
        case key(@Sendable (URLRequest) -> String?)

        /// Whether requests share a limit by their origin.
        package var isByOrigin: Bool { if case .origin = self { true } else { false } }
    }

    /// The limit of each key; `nil` when only the servers' fields hold requests back.
    public let limit: RateLimit?
    /// Which requests share a limit.
    public let scope: Scope
    /// Longest time that a request may have to wait; a request that would wait longer fails at once.
    ///
    /// `nil` for no limit.
    public let maximumWait: Duration?

    /// Longest time for which a server's fields hold requests back; a longer time in a field is shortened to this time.
    ///
    /// One day by default, and at most.
    public let maximumPause: Duration

    private let local: LocalRateLimits
    private let shared: SharedRateLimits?

    /// Makes a limiter for the requests of this process; it may be used by several sessions.
    ///
    /// - Parameters:
    ///   - limit: how many requests are sent; `nil` leaves the rate to the servers' own fields.
    ///   - scope: which requests share the limit.
    ///   - maximumWait: longest time that a request may have to wait; a request that would wait longer fails with
    ///     `RateLimitError.waitTooLong(_:)` inside `AFError.requestAdaptationFailed(error:)`; `nil`, the default, for
    ///     no limit.
    ///   - maximumPause: longest time for which a server's fields hold requests back, as in ``maximumPause``.
    public convenience init(
        _ limit: RateLimit?, scope: Scope = .origin, maximumWait: Duration? = nil,
        maximumPause: Duration = .seconds(86_400)
    ) {
        self.init(limit, scope: scope, maximumWait: maximumWait, maximumPause: maximumPause, backend: nil)
    }

    /// Makes a limiter whose slots come from a backend.
    package init(
        _ limit: RateLimit?, scope: Scope, maximumWait: Duration?, maximumPause: Duration = .seconds(86_400),
        backend: (any RateLimitBackend)?
    ) {
        self.limit = limit
        self.scope = scope
        self.maximumWait = maximumWait
        self.maximumPause = maximumPause
        // The local queues apply the backend's fallback: a limit for this process only.
        let local =
            switch backend?.fallback {
            case .share(let count): LocalRateLimits(limit: limit?.share(of: count))
            case .open: LocalRateLimits(limit: nil)
            case nil: LocalRateLimits(limit: limit)
            }
        self.local = local
        shared =
            if let backend, let limit {
                SharedRateLimits(backend, limit: limit, maximumWait: maximumWait, local: local)
            } else {
                nil
            }
    }

    /// How many requests wait in this process's queues, without those that wait for a slot of a shared limit.
    public var waitingCount: Int { local.waitingCount }

    // MARK: Interception

    /// Calls `completion` with the unchanged request when its slot has come.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        adapt(urlRequest, of: nil, for: session, completion)
    }

    /// Calls `completion` with the unchanged request when its slot has come.
    ///
    /// Fails with `RateLimitError.waitTooLong(_:)`.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        adapt(urlRequest, of: state.request, for: state.session, completion)
    }

    private func adapt(
        _ urlRequest: URLRequest, of request: Request?, for session: Session,
        _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        guard let key = key(of: urlRequest) else { return completion(.success(urlRequest)) }
        let passage = RateLimitPermit(
            urlRequest: urlRequest, request: request, key: key, clock: session.clock, completion: completion)
        if let request { observe(request, key: key, clock: session.clock) }
        guard let shared else { return enter(passage) }
        shared.enter(passage, otherwise: enter)
    }

    private func key(of request: URLRequest) -> String? {
        switch scope {
        case .all: ""
        case .key(let key): key(request)
        case .origin: request.url.flatMap { Self.origin(of: $0) }
        }
    }

    private static func origin(of url: URL) -> String? {
        guard let host = url.host else { return nil }
        let scheme = url.scheme?.lowercased() ?? ""
        return "\(scheme)://\(CanonicalHost.text(of: host)):\(url.port ?? (scheme == "https" ? 443 : 80))"
    }

    /// Sends a request, refuses it, or lets it wait in a queue of this process.
    private func enter(_ passage: RateLimitPermit) {
        let (arrival, number) = local.enter(
            passage.key, clock: passage.clock, maximumWait: passage.hasWaited ? nil : maximumWait, waiter(for: passage))
        switch arrival {
        case .send: passage.proceed()
        case .wait(let nanoseconds):
            passage.announce(.nanoseconds(Int64(clamping: nanoseconds)))
            passage.whenRequestEnds { [local] in local.leave(passage.key, number) }
        case .refuse(let nanoseconds):
            passage.fail(RateLimitError.waitTooLong(.nanoseconds(Int64(clamping: nanoseconds))))
        }
    }

    private func waiter(for passage: RateLimitPermit) -> LocalRateLimits.Waiter {
        var waiter = LocalRateLimits.Waiter(isWanted: { passage.isWanted }, proceed: { passage.proceed() })
        if let shared {
            // `self` owns the queues, and a queue holds this closure: the reference cycle ends when the wait ends.
            waiter.retakes = {
                var passage = passage
                passage.hasWaited = true
                shared.enter(passage, otherwise: self.enter)
            }
        }
        return waiter
    }

    // MARK: Fields of responses

    /// Reads the heads of the request's responses until the request has ended.
    private func observe(_ request: Request, key: String, clock: any SessionClock) {
        request.mutable.withLock { state in
            state.withExtras { extras in
                let name = ObjectIdentifier(self)
                extras.headObservers[name] = { [weak self] head, url in
                    self?.note(head, from: url, key: key, clock: clock)
                }
            }
        }
    }

    private func note(_ head: ResponseHead, from url: URL, key: String, clock: any SessionClock) {
        // After a redirect, the response may come from another origin; its fields then apply only to that origin.
        let key = if case .origin = scope { Self.origin(of: url) ?? key } else { key }
        let fields = RateLimitFields(status: head.status, now: clock.now) { name in
            let values = head.fields.filter { $0.name.isEqualIgnoringASCIICase(name) }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        if let seconds = fields.pause, seconds > 0 {
            let pause = bounded(seconds)
            local.pause(key, for: pause.nanosecondCount, clock: clock)
            shared?.setPause(pause, of: key)
        }
        if let quota = fields.quota {
            let pause = bounded(quota.seconds)
            if quota.remaining == 0, quota.seconds > 0 { shared?.setPause(pause, of: key) }
            local.allow(key, quota.remaining, for: pause.nanosecondCount, clock: clock)
        }
    }

    private func bounded(_ seconds: TimeInterval) -> Duration {
        let pause = Duration.seconds(seconds)
        return min(max(.zero, maximumPause), pause)
    }
}

extension RequestInterceptor where Self == RateLimiter {
    /// Holds requests to each origin back so that no more are sent than a limit allows.
    ///
    /// - Parameters:
    ///   - limit: how many requests are sent; `nil` leaves the rate to the servers' own fields.
    ///   - maximumWait: longest time that a request may have to wait; a request that would wait longer fails with
    ///     `RateLimitError.waitTooLong(_:)`; `nil`, the default, for no limit.
    ///   - maximumPause: longest time for which a server's fields hold requests back; one day by default, and at most.
    /// - Returns: a limiter with the scope `origin`.
    public static func rateLimiter(
        _ limit: RateLimit?, maximumWait: Duration? = nil, maximumPause: Duration = .seconds(86_400)
    ) -> RateLimiter {
        RateLimiter(limit, maximumWait: maximumWait, maximumPause: maximumPause)
    }
}
