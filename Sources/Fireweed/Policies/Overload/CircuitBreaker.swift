// The guard that sends nothing to failing origins.

public import FireweedTransport
import Foundation
import Synchronization

/// Stops sending to a failing origin for a while.
///
/// When half of an origin's messages fail, its circuit opens: for a pause, its messages fail at once with
/// ``OverloadError/circuitOpen(origin:pause:)``. Then a few messages probe whether the origin has recovered. When all
/// probes succeed, the circuit closes; when one fails, the next pause is twice as long.
///
/// Failures are: no connection, a failed look-up or handshake, a time-out or a lost connection before the head of the
/// response, a response that is not HTTP (`URLError.badServerResponse`, `.cannotParseResponse`), and the statuses 500,
/// 502, 503 and 504. These are not failures: other statuses, a certificate that the session refuses, a cancellation,
/// and a refusal by a guard or a queue. WebSockets are exempt.
///
/// With more than 256 origins, the least recently used ones are forgotten if their circuits are closed and have no
/// outcomes in the window, or if their pauses ended long ago.
///
/// ```swift
/// let session = Session(options: SessionOptions(guards: [.circuitBreaker(), .concurrencyLimit()]))
/// ```
public final class CircuitBreaker: TransportGuard {
    /// The rules by which circuits open and close.
    public struct Policy: Sendable, Hashable {
        /// The time over which outcomes are counted; 10 seconds by default.
        public var window: Duration = .seconds(10)
        /// With fewer outcomes than this in the window, a circuit stays closed; 20 by default.
        public var minimumCount = 20
        /// The share of failures, from 0 to 1, that opens the circuit; 0.5 by default.
        public var failureRatio = 0.5
        /// The first pause; 1 second by default.
        public var pause: Duration = .seconds(1)
        /// The longest pause; 30 seconds by default.
        ///
        /// The response that opens the circuit may ask for a pause up to this length, by `Retry-After` (RFC 9110
        /// §10.2.3) with a 503, or by a `RateLimit` quota that is used up.
        public var longestPause: Duration = .seconds(30)
        /// How many probes must succeed after the pause to close the circuit; 3 by default.
        public var probeCount = 3

        /// Makes the default policy.
        public init() {}

        var rule: CircuitState.Rule {
            CircuitState.Rule(
                trip: .ratio(
                    failureRatio > 0 ? failureRatio : .leastNonzeroMagnitude, minimumCount: max(1, minimumCount),
                    window: window.nanoseconds),
                firstPause: max(1, pause.nanoseconds),
                longestPause: max(1, pause.nanoseconds, longestPause.nanoseconds),
                probeCount: max(1, probeCount))
        }
    }

    /// The state of a circuit.
    public enum Stage: Sendable, Hashable {
        /// Messages are sent.
        case closed
        /// Messages are refused.
        case open
        /// A few messages are sent, to probe whether the origin has recovered.
        case probing
    }

    fileprivate struct State {
        var circuits = OriginStates<CircuitState>()
        var refusalCount = 0
    }

    private let rule: CircuitState.Rule
    private let state = Mutex(State())
    private let enabled = Atomic(true)

    /// Makes a breaker, which may serve several sessions.
    ///
    /// - Parameter policy: when circuits open and close.
    public init(_ policy: Policy = Policy()) {
        rule = policy.rule
    }

    /// Whether messages are counted and refused; true at first.
    ///
    /// You can change it at any time, on any thread. A circuit that is open when the breaker is turned off is still
    /// open when the breaker is turned on again, unless its pause is over.
    public var isEnabled: Bool {
        get { enabled.load(ordering: .relaxed) }
        set { enabled.store(newValue, ordering: .relaxed) }
    }

    /// The stage of each circuit; the key is the origin: scheme, host and port.
    public var stages: [String: Stage] {
        state.withLock { $0.circuits.states }.mapValues { circuit in
            switch circuit.stage {
            case .closed: .closed
            case .open: .open
            case .probing: .probing
            }
        }
    }

    /// How many messages were refused.
    public var refusalCount: Int { state.withLock { $0.refusalCount } }

    /// Returns a transport that asks the breaker before it sends a message.
    public func guarding(_ transport: any Transport) -> any Transport { GuardedTransport(transport, by: self) }
}

extension CircuitBreaker: AdmissionGuard {
    struct Permit: Sendable {
        let origin: String
        let start: UInt64
    }

    func admit(_ message: borrowing RequestMessage, at now: UInt64) -> GuardAdmission<Permit> {
        guard isEnabled, let origin = message.originText else { return .pass }
        return state.withLock { state in
            switch state.change(origin, at: now, rule, { $0.admit(at: now) }) {
            case .send: return .admit(Permit(origin: origin, start: now))
            case .refuse(let pause):
                state.refusalCount += 1
                return .refuse(.circuitOpen(origin: origin, pause: .nanoseconds(Int64(clamping: pause))))
            }
        }
    }

    func noteHead(_ head: ResponseHead, for permit: Permit, clock: any SessionClock) {
        let now = clock.monotonicNanoseconds
        let isFailure = Self.failureStatuses.contains(head.status)
        let pause = isFailure ? head.requestedPause(now: clock.now) : .zero
        state.withLock { state in
            state.change(permit.origin, at: now, rule) { circuit in
                _ =
                    isFailure
                    ? circuit.failed(at: now, since: permit.start, requestedPause: pause.nanoseconds)
                    : circuit.succeeded(at: now, since: permit.start)
            }
        }
    }

    func release(_ permit: Permit, after end: GuardedEnd, at now: UInt64) {
        // If a head came, `noteHead` has already counted its status as the outcome.
        guard !end.hasHead else { return }
        state.withLock { state in
            state.change(permit.origin, at: now, rule) { circuit in
                if end.isFailureOfOrigin {
                    _ = circuit.failed(at: now, since: permit.start)
                } else {
                    circuit.abandoned(since: permit.start)
                }
            }
        }
    }

    private static let failureStatuses: Set<Int> = [500, 502, 503, 504]
}

extension CircuitBreaker.State {
    fileprivate mutating func change<Result>(
        _ origin: String, at now: UInt64, _ rule: CircuitState.Rule, _ body: (inout CircuitState) -> Result
    ) -> Result {
        circuits.change(origin, otherwise: { CircuitState(rule) }, removing: { $0.isIdle(at: now) }, body)
    }
}

extension GuardedEnd {
    /// Whether the origin is responsible for a transfer that ended without a head.
    fileprivate var isFailureOfOrigin: Bool {
        // A message that did not leave our own queue says nothing about the origin.
        guard !isUnassigned else { return false }
        if isTimeout { return true }
        switch failure {
        case .exchange(let code, _, _): return Self.failureCodes.contains(code)
        case .reported(let error): return (error as? URLError).map { Self.failureCodes.contains($0.code) } ?? false
        case .cancelled, .unreadableBody, .untrusted, .refused, nil: return false
        }
    }

    private static let failureCodes: Set<URLError.Code> = [
        .badServerResponse, .cannotConnectToHost, .cannotFindHost, .cannotParseResponse, .dnsLookupFailed,
        .networkConnectionLost, .secureConnectionFailed, .timedOut,
    ]
}

extension TransportGuard where Self == CircuitBreaker {
    /// Makes a circuit breaker, which has one circuit for each origin.
    ///
    /// - Parameter policy: when circuits open and close.
    /// - Returns: a new breaker.
    public static func circuitBreaker(_ policy: CircuitBreaker.Policy = CircuitBreaker.Policy()) -> CircuitBreaker {
        CircuitBreaker(policy)
    }
}
