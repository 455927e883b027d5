// The guard that limits the messages in flight.

public import FireweedTransport
import Foundation
import Synchronization

/// Limits how many messages are in flight to each origin, and reserves a part of the limit for important messages.
///
/// A message beyond the limit fails at once with ``OverloadError/limitReached(origin:limit:)``. An adaptive limit finds
/// out how many messages the origin can handle: a round of successes adds one to the limit, and each sign of overload
/// removes a tenth. Signs of overload are a time-out before the head, a refusal by the origin's queue, the statuses 429
/// and 503, and a head later than the latency target, if there is one. Other statuses from 500 on change nothing.
///
/// A fifth of the limit, at least one place, is reserved for ``TransferPriority/important`` messages;
/// ``TransferPriority/sheddable`` messages use at most half of the limit. A limit of one still admits an important
/// message beside a normal one.
///
/// An origin that answers 429 or 503 with `Retry-After`, or whose `RateLimit` quota is used up, gets no message for
/// that time: messages fail with ``OverloadError/pauseRequested(origin:pause:)``.
///
/// With more than 256 origins, the least recently used ones without messages in flight and without a pause are
/// forgotten, and start with the initial limit again.
///
/// A message counts from its start to its end, but the message of a ``DataStreamRequest`` only until the response head,
/// since a stream may last for ever. WebSockets are exempt.
///
/// ```swift
/// let session = Session(options: SessionOptions(guards: [.concurrencyLimit(.fixed(10))]))
/// ```
public final class ConcurrencyLimit: TransportGuard {
    /// How the limit of an origin is found.
    public struct Policy: Sendable, Hashable {
        let initial: Int
        let bounds: ClosedRange<Int>
        let latencyTarget: Duration?
        /// Longest pause that an origin's `Retry-After` or `RateLimit` fields can cause; 30 seconds by default.
        public var longestPause: Duration = .seconds(30)

        /// Returns the policy of a limit that never changes.
        ///
        /// - Parameter limit: how many messages may be in flight; less than one counts as one.
        /// - Returns: the policy.
        public static func fixed(_ limit: Int) -> Policy {
            Policy(initial: max(1, limit), bounds: max(1, limit)...max(1, limit), latencyTarget: nil)
        }

        /// Returns the policy of a limit that grows while the origin answers, and shrinks when the origin is
        /// overloaded.
        ///
        /// - Parameters:
        ///   - initial: the first limit; 20 by default.
        ///   - bounds: the least and the greatest limit; 1 to 200 by default. Less than one counts as one.
        ///   - latencyTarget: a head that takes longer is a sign of overload; `nil`, the default, has no target.
        /// - Returns: the policy.
        public static func adaptive(
            initial: Int = 20, in bounds: ClosedRange<Int> = 1...200, latencyTarget: Duration? = nil
        ) -> Policy {
            let bounds = max(1, bounds.lowerBound)...max(1, bounds.upperBound)
            return Policy(initial: initial, bounds: bounds, latencyTarget: latencyTarget)
        }
    }

    /// The limit of an origin, and the number of messages in flight.
    public struct Usage: Sendable, Hashable {
        /// How many messages may be in flight.
        public let limit: Int
        /// How many messages are in flight.
        public let inFlight: Int
    }

    fileprivate struct State {
        var origins = OriginStates<ConcurrencyState>()
        var refusalCount = 0
    }

    private let policy: Policy
    private let state = Mutex(State())
    private let enabled = Atomic(true)

    /// Makes a limit, which may serve several sessions.
    ///
    /// - Parameter policy: how the limit of each origin is found.
    public init(_ policy: Policy = .adaptive()) {
        self.policy = policy
    }

    /// Whether messages are counted and refused; true at first.
    ///
    /// You can change it at any time, on any thread. Messages that are sent while it is false are not counted.
    public var isEnabled: Bool {
        get { enabled.load(ordering: .relaxed) }
        set { enabled.store(newValue, ordering: .relaxed) }
    }

    /// The limit of each origin and its messages in flight; the key is the origin: scheme, host and port.
    public var usage: [String: Usage] {
        state.withLock { $0.origins.states }.mapValues { Usage(limit: $0.limit, inFlight: $0.inFlight) }
    }

    /// How many messages were refused.
    public var refusalCount: Int { state.withLock { $0.refusalCount } }

    /// Returns a transport that keeps to the limit.
    public func guarding(_ transport: any Transport) -> any Transport { GuardedTransport(transport, by: self) }
}

extension ConcurrencyLimit: AdmissionGuard {
    struct Permit: Sendable {
        let origin: String
        let start: UInt64
        /// Whether the message's place is freed when the head arrives.
        let isStream: Bool
    }

    func admit(_ message: borrowing RequestMessage, at now: UInt64) -> GuardAdmission<Permit> {
        guard isEnabled, let origin = message.originText else { return .pass }
        let (priority, isStream) = (message.priority, message.isStream)
        return state.withLock { state in
            switch state.change(origin, at: now, policy, { $0.admit(priority, at: now) }) {
            case .send: return .admit(Permit(origin: origin, start: now, isStream: isStream))
            case .refuse(let limit):
                state.refusalCount += 1
                return .refuse(.limitReached(origin: origin, limit: limit))
            case .pause(let rest):
                state.refusalCount += 1
                return .refuse(.pauseRequested(origin: origin, pause: .nanoseconds(Int64(clamping: rest))))
            }
        }
    }

    func noteHead(_ head: ResponseHead, for permit: Permit, clock: any SessionClock) {
        let now = clock.monotonicNanoseconds
        let isLate = policy.latencyTarget.map { now > permit.start.addingSaturating($0.nanoseconds) } ?? false
        let isOverload = isLate || head.status == 429 || head.status == 503
        // A server error other than 503 does not show that the origin can handle more messages.
        let outcome: ConcurrencyState.Outcome = isOverload ? .overload : head.status >= 500 ? .unknown : .success
        let pause = min(head.requestedPause(now: clock.now), policy.longestPause)
        state.withLock { state in
            state.change(permit.origin, at: now, policy) { origin in
                origin.note(outcome)
                if pause > .zero { origin.pause(until: now.addingSaturating(pause.nanoseconds)) }
                if permit.isStream { origin.release() }
            }
        }
    }

    func release(_ permit: Permit, after end: GuardedEnd, at now: UInt64) {
        guard !(end.hasHead && permit.isStream) else { return }
        let isOverload = end.isTimeout || end.failure?.overload?.isOfQueue ?? false
        state.withLock { state in
            state.change(permit.origin, at: now, policy) { origin in
                if !end.hasHead { origin.note(isOverload ? .overload : .unknown) }
                origin.release()
            }
        }
    }
}

extension ConcurrencyLimit.State {
    fileprivate mutating func change<Result>(
        _ origin: String, at now: UInt64, _ policy: ConcurrencyLimit.Policy,
        _ body: (inout ConcurrencyState) -> Result
    ) -> Result {
        origins.change(
            origin, otherwise: { ConcurrencyState(initial: policy.initial, in: policy.bounds) },
            removing: { $0.isIdle(at: now) }, body)
    }
}

extension OverloadError {
    /// Whether the origin's queue refused the message; the refusal of another guard says nothing about this limit.
    fileprivate var isOfQueue: Bool {
        switch self {
        case .deadlineOutOfReach, .tooManyWaiting, .waitedTooLong: true
        default: false
        }
    }
}

extension TransportGuard where Self == ConcurrencyLimit {
    /// Makes a limit on the messages in flight to each origin.
    ///
    /// - Parameter policy: how the limit is found; it adapts to the origin, by default.
    /// - Returns: a new limit.
    public static func concurrencyLimit(_ policy: ConcurrencyLimit.Policy = .adaptive()) -> ConcurrencyLimit {
        ConcurrencyLimit(policy)
    }
}
