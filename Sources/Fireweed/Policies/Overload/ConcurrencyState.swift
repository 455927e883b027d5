// The limit of messages in flight, as a pure state machine.

import FireweedTransport

/// Counts the messages that are in flight to one origin, and finds out how many the origin can handle.
///
/// Pure: times are arguments, in nanoseconds of a monotonic clock. The limit grows by one with each round of successes,
/// and shrinks by a tenth with each sign of overload (AIMD, as TCP's congestion window does).
package struct ConcurrencyState: Sendable, Equatable {
    /// The evidence that a message gives about the origin's load.
    package enum Outcome: Sendable, Equatable, CaseIterable {
        /// The origin answered in time and without a server error.
        case success
        /// The origin was overloaded.
        case overload
        /// The end says nothing about the origin's load.
        case unknown
    }

    package enum Admission: Sendable, Equatable {
        case send
        /// The messages in flight have reached the limit for the priority.
        case refuse(limit: Int)
        /// The origin asked for a pause, which has this many nanoseconds left.
        case pause(nanoseconds: UInt64)
    }

    private let bounds: ClosedRange<Int>
    private var exactLimit: Double
    /// The messages that were admitted and have not been released.
    package private(set) var inFlight = 0
    /// Nothing is sent before this moment.
    private var pauseEnd: UInt64 = 0

    private static let greatestLimit = 1 << 30

    /// Makes a state without messages; bounds of one number make a fixed limit.
    package init(initial: Int, in bounds: ClosedRange<Int>) {
        self.bounds = bounds.clamped(to: 1...Self.greatestLimit)
        exactLimit = Double(min(max(initial, self.bounds.lowerBound), self.bounds.upperBound))
    }

    /// How many messages may be in flight.
    package var limit: Int { Int(exactLimit) }

    /// Returns the limit for messages of a priority: a message is admitted while fewer messages than this are in
    /// flight.
    ///
    /// A fifth of the limit, at least one place, is reserved for important messages; sheddable messages use at most
    /// half of the limit. When nothing is in flight, every message is admitted, since the limit could never grow again
    /// otherwise.
    package func limit(for priority: TransferPriority) -> Int {
        let normal = max(1, limit - max(1, limit / 5))
        return switch priority {
        case .sheddable: max(1, min(normal, limit / 2))
        case .normal: normal
        case .important: max(limit, normal + 1)
        }
    }

    /// Decides whether a message may be sent; each admitted message must end in `release`.
    package mutating func admit(_ priority: TransferPriority, at now: UInt64) -> Admission {
        guard now >= pauseEnd else { return .pause(nanoseconds: pauseEnd - now) }
        let limit = limit(for: priority)
        guard inFlight < limit else { return .refuse(limit: limit) }
        inFlight += 1
        return .send
    }

    /// Notes the evidence of a message; called at most once for each message, before its release.
    package mutating func note(_ outcome: Outcome) {
        switch outcome {
        case .success:
            // A success proves nothing about a limit that is mostly unused. The `+ 1` is for sheddable messages, which
            // can use only half of the limit, rounded down.
            guard 2 * inFlight + 1 >= limit else { return }
            exactLimit = min(exactLimit + 1 / exactLimit, Double(bounds.upperBound))
        case .overload: exactLimit = max(exactLimit * 0.9, Double(bounds.lowerBound))
        case .unknown: break
        }
    }

    /// Admits no message before a moment, because the origin asked for a pause.
    package mutating func pause(until moment: UInt64) {
        pauseEnd = max(pauseEnd, moment)
    }

    /// Frees the place of a message.
    package mutating func release() {
        precondition(inFlight > 0, "a message was released twice")
        inFlight -= 1
    }

    /// Whether the state can be dropped: nothing is in flight, and no pause is left.
    package func isIdle(at now: UInt64) -> Bool { inFlight == 0 && now >= pauseEnd }
}
