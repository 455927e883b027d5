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
        /// Those of the request. No content comes in, and the idle time-out stands still.
        ///
        /// What the transport has read already it may keep back; it reads no more.
        case receivingPaused
        /// None in either direction; the idle time-out stands still, and the deadline does not.
        ///
        /// The consumer is told nothing, apart from the end of a transfer that is cancelled or out of time. What was on
        /// its way when the decision was made may still come.
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
    ///   - revision: the number of the decision, from 1 on; of several decisions, the highest number counts.
    public init(_ level: Level, revision: UInt64) {
        self.level = level
        self.revision = revision
    }

    /// No decision: a transfer that has had none runs, and one that has had some follows the last of them.
    public static let undecided = Flow(.running, revision: 0)

    /// Follows another decision if it is the later one, and says whether that changes what may move.
    public mutating func follow(_ other: Flow) -> Bool {
        guard other.revision > revision else { return false }
        defer { self = other }
        return other.level != level
    }
}
