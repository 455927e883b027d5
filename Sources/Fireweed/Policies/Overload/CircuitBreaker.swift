// The guard that leaves failing origins alone.

public import FireweedTransport
import Foundation
import Synchronization

/// Sends nothing to an origin that fails, for a while.
///
/// When half of an origin's messages fail, its circuit opens: for a pause, its messages fail at once with
/// ``OverloadError/circuitOpen(origin:pause:)``. Then a few messages try whether the origin is back. When all of them
/// succeed the circuit is closed; when one fails, the next pause is twice as long.
///
/// Failures are: no connection, a failed look-up or handshake, a time-out or a lost connection before the head of the
/// response, an answer that is no HTTP (`URLError.badServerResponse`, `.cannotParseResponse`), and the statuses 500,
/// 502, 503 and 504. No failures are: other statuses, a certificate that the session refuses, a cancellation, and a
/// refusal by a guard or a queue. WebSockets are exempt.
///
/// Of more than 256 origins, those that were used least recently are forgotten, if their circuits are closed without an
/// outcome that counts, or were open long ago.
///
/// ```swift
/// let session = Session(options: SessionOptions(guards: [.circuitBreaker(), .concurrencyLimit()]))
/// ```
public final class CircuitBreaker: TransportGuard {
    /// When a circuit opens and closes.
    public struct Policy: Sendable, Hashable {
        /// The time over which outcomes are counted; 10 seconds by default.
        public var window: Duration = .seconds(10)
        /// With fewer outcomes than this in the window a circuit stays closed; 20 by default.
        public var minimumCount = 20
        /// The part of the outcomes that have to be failures, from 0 to 1; half by default.
        public var failureRatio = 0.5
        /// The first pause; 1 second by default.
        public var pause: Duration = .seconds(1)
        /// The longest pause; 30 seconds by default.
        ///
        /// When its circuit opens, an origin may ask for a pause up to this, by `Retry-After` (RFC 9110 §10.2.3) with a
        /// 503, or by a `RateLimit` quota that is used up.
        public var longestPause: Duration = .seconds(30)
        /// How many messages have to succeed after the pause; 3 by default.
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

    /// What a circuit does with messages.
    public enum Stage: Sendable, Hashable {
        /// It lets them pass.
        case closed
        /// It refuses them.
        case open
        /// It lets a few pass, to try whether the origin is back.
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
    /// It may change at any time, on any thread. A circuit that is open then is still open when the breaker is turned
    /// on again, unless its pause is over.
    public var isEnabled: Bool {
        get { enabled.load(ordering: .relaxed) }
        set { enabled.store(newValue, ordering: .relaxed) }
    }

    /// The stage of each circuit, by the origin: scheme, host and port.
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

    /// Wraps a transport in one that asks the breaker.
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
        // The head has said it.
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
    /// Whether a transfer without a head says that its origin cannot do its work.
    fileprivate var isFailureOfOrigin: Bool {
        // A time-out in our own queue says nothing about the origin.
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
    /// A circuit breaker for each origin.
    ///
    /// - Parameter policy: when circuits open and close.
    /// - Returns: a breaker of its own.
    public static func circuitBreaker(_ policy: CircuitBreaker.Policy = CircuitBreaker.Policy()) -> CircuitBreaker {
        CircuitBreaker(policy)
    }
}
