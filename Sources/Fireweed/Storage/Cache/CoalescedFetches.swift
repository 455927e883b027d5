// Equal requests that are in flight at the same time (RFC 9111 §4).

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Lets equal requests of a session wait for the response to the first of them.
///
/// The first of several equal requests leads: it is sent. The other requests wait until the response is stored, and
/// then look up the response in the cache. If the response may not be reused or is not stored, each of them is sent.
final class CoalescedFetches: Sendable {
    /// The properties that two requests must share so that one response answers both, with any `Vary`.
    struct Key: Hashable, Sendable {
        let url: String
        /// All fields except those for tracing, which differ in each request.
        fileprivate let fields: [String]
        fileprivate let credentials: String?
        fileprivate let certificate: Data?
        fileprivate let policy: URLRequest.CachePolicy
        /// The idle time-out is a part of the key, so that a request does not fail because of another request's shorter
        /// time-out.
        fileprivate let idleTimeout: TimeInterval

        private static let tracingFields: Set<String> = ["traceparent", "tracestate", "baggage"]

        /// Makes the key of a request; `nil` when the response to another request cannot answer this one.
        init?(_ query: CacheQuery, idleTimeout: TimeInterval) {
            guard Self.isPossible(for: query) else { return nil }
            url = query.key.text
            fields = query.fields.fields.map { "\($0.name.lowercased()):\($0.value)" }.sorted()
                .filter { line in !Self.tracingFields.contains(String(line.prefix { $0 != ":" })) }
            credentials = query.credentials
            certificate = query.certificate
            policy = query.policy
            self.idleTimeout = idleTimeout
        }

        /// Whether the response to an equal request can answer this request.
        ///
        /// False for a method other than GET, for a request that accepts no stored response without validation, and for
        /// a request that accepts only a stored response.
        static func isPossible(for query: CacheQuery) -> Bool {
            let control = query.facts.control
            return query.method == "GET" && query.isAnswerable && !control.noStore && !control.noCache
                && !control.onlyIfCached && control.maxAge != 0
                && (query.policy == .useProtocolCachePolicy || query.policy == .returnCacheDataElseLoad)
        }
    }

    /// The role of a request among equal requests.
    enum FetchRole: Sendable {
        /// The request is sent, and others may wait for its response.
        case leads(FetchLeader)
        /// The request waits, since an equal request has been sent.
        case waits(FetchFollower)
        /// The request is sent, and no other request waits for it.
        case alone
    }

    private struct Flight {
        let number: Int
        let takesWaiters: Bool
        var waiters: [ObjectIdentifier: FetchFollower] = [:]
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var flightCount = 0
        var placeCount = 0
        /// The keys whose last response could not be shared: later requests do not wait for each other.
        var unshared: Set<String> = []
    }

    /// The most unshared keys that are remembered.
    private static let unsharedLimit = 4096

    private let state = Mutex(State())

    /// The number of roles that have been assigned so far.
    var placeCount: Int { state.withLock { $0.placeCount } }

    /// Gives a request its role; `mayLead` is true when the request's response would be stored.
    func enter(_ key: Key, mayLead: Bool) -> FetchRole {
        enum Found { case flight(Int), waiter(FetchFollower), none }
        let found = state.withLock { state -> Found in
            state.placeCount += 1
            if let flight = state.flights[key] {
                guard flight.takesWaiters else { return .none }
                let waiter = FetchFollower()
                state.flights[key]?.waiters[ObjectIdentifier(waiter)] = waiter
                return .waiter(waiter)
            }
            guard mayLead else { return .none }
            state.flightCount += 1
            state.flights[key] = Flight(
                number: state.flightCount, takesWaiters: !state.unshared.contains(key.url))
            return .flight(state.flightCount)
        }
        switch found {
        case .flight(let number): return .leads(FetchLeader { [weak self] in self?.end(key, number, $0) })
        case .waiter(let waiter): return .waits(waiter)
        case .none: return .alone
        }
    }

    /// Removes a waiter that no longer waits.
    func leave(_ key: Key, _ waiter: FetchFollower) {
        _ = state.withLock { $0.flights[key]?.waiters.removeValue(forKey: ObjectIdentifier(waiter)) }
    }

    private func end(_ key: Key, _ number: Int, _ outcome: FetchOutcome) {
        let waiters = state.withLock { state -> [FetchFollower] in
            guard state.flights[key]?.number == number, let flight = state.flights.removeValue(forKey: key) else {
                return []
            }
            switch outcome {
            case .unshared:
                if state.unshared.count >= Self.unsharedLimit { state.unshared = [] }
                state.unshared.insert(key.url)
            case .stored: state.unshared.remove(key.url)
            case .handedOver, .failed, .stale, .outOfTime: break
            }
            return Array(flight.waiters.values)
        }
        for waiter in waiters { waiter.resolve(outcome) }
    }
}

/// The outcome that is passed to a request that waits for another request's response.
enum FetchOutcome: Sendable {
    /// The response is complete, and is stored unless a handler or the store refused it.
    case stored
    /// The response cannot be shared, or the wait has lasted for the idle time-out.
    case unshared
    /// The leader ended for its own reason, such as a cancellation, a suspension or its deadline: another request
    /// becomes the leader.
    case handedOver
    /// The exchange failed.
    case failed(TransferFailure)
    /// The origin answered with an error; a stale response may be used instead.
    case stale
    /// The deadline of the request that waits has passed.
    case outOfTime
}

/// The first of several equal requests, which has to report the outcome of its fetch.
///
/// The first call of `end` counts. A leader that is released without a call reports `handedOver`.
final class FetchLeader: Sendable {
    private let notify: Mutex<(@Sendable (FetchOutcome) -> Void)?>

    init(_ notify: @escaping @Sendable (FetchOutcome) -> Void) {
        self.notify = Mutex(notify)
    }

    deinit {
        end(.handedOver)
    }

    func end(_ outcome: FetchOutcome) {
        notify.withLock { $0.take() }?(outcome)
    }
}

/// A request that waits for the response to an equal request.
final class FetchFollower: Sendable {
    private enum State {
        case new
        case waiting(@Sendable (FetchOutcome) -> Void)
        case resolved(FetchOutcome)
        case over
    }

    private let state = Mutex(State.new)

    /// Calls `handler` once, on any thread, when the outcome is known; never after `cancel`.
    func wait(_ handler: @escaping @Sendable (FetchOutcome) -> Void) {
        let outcome = state.withLock { state -> FetchOutcome? in
            switch state {
            case .new:
                state = .waiting(handler)
                return nil
            case .resolved(let outcome):
                state = .over
                return outcome
            case .waiting, .over: return nil
            }
        }
        if let outcome { handler(outcome) }
    }

    /// Sets the outcome; only the first call counts.
    func resolve(_ outcome: FetchOutcome) {
        let handler = state.withLock { state -> (@Sendable (FetchOutcome) -> Void)? in
            switch state {
            case .new:
                state = .resolved(outcome)
                return nil
            case .waiting(let handler):
                state = .over
                return handler
            case .resolved, .over: return nil
            }
        }
        handler?(outcome)
    }

    func cancel() {
        state.withLock { $0 = .over }
    }
}
