// The control of a transfer's flow of bytes.

/// A numbered decision about which bytes of a transfer may be sent and received.
///
/// Decisions from several threads may reach a transfer in a different order than they were made. So the owner of the
/// transfer numbers its decisions, and the transfer follows the decision with the highest number.
public struct Flow: Sendable, Hashable {
    /// The bytes that may be sent and received.
    public enum Level: Sendable, Hashable {
        /// All bytes.
        case running
        /// Only the request's bytes: no content is received, and the idle time-out is stopped.
        ///
        /// The transport stops reading, and may hold back bytes that it has already read.
        case receivingPaused
        /// No bytes in either direction; the idle time-out is stopped, but the deadline is not.
        ///
        /// The consumer is not called, except for the end of a transfer that is cancelled or timed out. Calls that were
        /// already in progress when the decision was made may still arrive.
        case suspended
    }

    /// The bytes that may be sent and received.
    public var level: Level
    /// The number of the decision, from 1 on.
    public var revision: UInt64

    /// Makes a decision.
    ///
    /// - Parameters:
    ///   - level: the bytes that may be sent and received.
    ///   - revision: the number of the decision, from 1 on; the decision with the highest number applies.
    public init(_ level: Level, revision: UInt64) {
        self.level = level
        self.revision = revision
    }

    /// No decision: a transfer follows its last decision, and runs if it has none.
    public static let undecided = Flow(.running, revision: 0)

    /// Follows another decision if it is newer; returns whether this changes the level.
    public mutating func follow(_ other: Flow) -> Bool {
        guard other.revision > revision else { return false }
        defer { self = other }
        return other.level != level
    }
}
