// The bytes of a transfer that may move.

/// A decision about which bytes of a transfer may move, and its number.
///
/// The decisions of several threads may reach a transfer in another order than they were made in. The owner of the
/// transfer numbers its decisions; the transfer follows the decision with the highest number.
public struct Flow: Sendable, Hashable {
    /// Which bytes may move.
    public enum Level: Sendable, Hashable {
        /// All of them.
        case running
        /// Only those of the request. No content comes in, and the idle time-out is stopped.
        ///
        /// The transport reads no more, and may keep back what it has read already.
        case receivingPaused
        /// None in either direction; the idle time-out is stopped, and the deadline is not.
        ///
        /// The consumer is not called, except at the end of a transfer that is cancelled or timed out. Calls that were
        /// on their way when the decision was made may still come.
        case suspended
    }

    /// Which bytes may move.
    public var level: Level
    /// The number of the decision, from 1 on.
    public var revision: UInt64

    /// Makes a decision.
    ///
    /// - Parameters:
    ///   - level: which bytes may move.
    ///   - revision: the number of the decision, from 1 on; of several decisions, the one with the highest number
    ///     applies.
    public init(_ level: Level, revision: UInt64) {
        self.level = level
        self.revision = revision
    }

    /// No decision: a transfer without an earlier decision runs; any other follows its last decision.
    public static let undecided = Flow(.running, revision: 0)

    /// Follows another decision if it is a later one; returns whether that changes which bytes may move.
    public mutating func follow(_ other: Flow) -> Bool {
        guard other.revision > revision else { return false }
        defer { self = other }
        return other.level != level
    }
}
