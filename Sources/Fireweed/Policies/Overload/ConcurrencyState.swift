// The limit of messages under way, as a table.

import FireweedTransport

/// Counts the messages that are under way to one origin, and finds out how many the origin can bear.
///
/// Pure: moments are arguments, in nanoseconds of a clock that never goes back. The limit grows by one with each round
/// of successes, and shrinks by a tenth with each sign of overload (AIMD, as TCP's congestion window does).
package struct ConcurrencyState: Sendable, Equatable {
    /// What a message says about the origin.
    package enum Outcome: Sendable, Equatable, CaseIterable {
        /// The origin did its work.
        case success
        /// The origin had too much to do.
        case overload
        /// The end says nothing about the origin's load.
        case unknown
    }

    package enum Admission: Sendable, Equatable {
        case send
        /// As many messages are under way as the limit allows for the priority.
        case refuse(limit: Int)
        /// The origin wants a pause, which has so many nanoseconds left.
        case pause(nanoseconds: UInt64)
    }

    private let bounds: ClosedRange<Int>
    private var exactLimit: Double
    /// The messages that were admitted and have not been released.
    package private(set) var inFlight = 0
    /// Nothing is sent before this moment.
    private var pauseEnd: UInt64 = 0

    private static let greatestLimit = 1 << 30

    /// Makes a table without messages; bounds of one number are a fixed limit.
    package init(initial: Int, in bounds: ClosedRange<Int>) {
        self.bounds = bounds.clamped(to: 1...Self.greatestLimit)
        exactLimit = Double(min(max(initial, self.bounds.lowerBound), self.bounds.upperBound))
    }

    /// How many messages may be under way.
    package var limit: Int { Int(exactLimit) }

    /// How many messages may be under way when a message of a priority is admitted to them.
    ///
    /// A fifth of the limit, and one place at least, is for the important messages alone, and half of it is not for
    /// the sheddable ones. When nothing is under way every message is admitted, or the limit could never grow again.
    package func limit(for priority: TransferPriority) -> Int {
        let normal = max(1, limit - max(1, limit / 5))
        return switch priority {
        case .sheddable: max(1, min(normal, limit / 2))
        case .normal: normal
        case .important: max(limit, normal + 1)
        }
    }

    /// Whether a message may be sent; one that may has to end in `released`.
    package mutating func admit(_ priority: TransferPriority, at now: UInt64) -> Admission {
        guard now >= pauseEnd else { return .pause(nanoseconds: pauseEnd - now) }
        let limit = limit(for: priority)
        guard inFlight < limit else { return .refuse(limit: limit) }
        inFlight += 1
        return .send
    }

    /// A message says something about the origin; at most once for each message, before it is released.
    package mutating func note(_ outcome: Outcome) {
        switch outcome {
        case .success:
            // A limit that is not used proves nothing; sheddable messages alone use half of it, rounded down.
            guard 2 * inFlight + 1 >= limit else { return }
            exactLimit = min(exactLimit + 1 / exactLimit, Double(bounds.upperBound))
        case .overload: exactLimit = max(exactLimit * 0.9, Double(bounds.lowerBound))
        case .unknown: break
        }
    }

    /// The origin wants no message before a moment.
    package mutating func pause(until moment: UInt64) {
        pauseEnd = max(pauseEnd, moment)
    }

    /// A message is not under way any more.
    package mutating func release() {
        precondition(inFlight > 0, "a message was released twice")
        inFlight -= 1
    }

    /// Whether the table can be dropped: nothing is under way, and the origin wants no pause.
    package func isIdle(at now: UInt64) -> Bool { inFlight == 0 && now >= pauseEnd }
}
