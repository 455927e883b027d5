// Overdue replies of a fleet's server.

import Synchronization

/// Tells all connections of a fleet whether a reply is overdue.
///
/// A server answers in order. Until a reply arrives or the connection is closed, a command with the same limit would
/// also time out. The command fails immediately instead, so that a request with several commands does not wait for each
/// one.
final class TimedOutReplies: Sendable {
    /// The longest limit that passed, in nanoseconds; zero while no reply is overdue.
    private let limit = Atomic<UInt64>(0)

    /// Whether a command with this limit, in nanoseconds, need not be sent.
    func covers(_ limit: UInt64) -> Bool {
        let overdue = self.limit.load(ordering: .relaxed)
        return overdue > 0 && limit <= overdue
    }

    /// Notes that a command was not answered within its limit; the command was sent, or waited for its connection.
    func note(_ limit: UInt64) {
        self.limit.max(max(1, limit), ordering: .relaxed)
    }

    /// Notes that a reply arrived, or that a connection ended.
    func clear() {
        if limit.load(ordering: .relaxed) != 0 { limit.store(0, ordering: .relaxed) }
    }
}
