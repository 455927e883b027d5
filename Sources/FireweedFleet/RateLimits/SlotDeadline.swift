// The longest wait for slots.

import Synchronization

/// Decides how long a command for slots may wait for its reply.
///
/// A server that is silent for a moment may still give the slots that it was asked for. A process that uses its share
/// of the limit instead would send in addition to these slots and to those of other processes: up to twice the limit
/// together. So a command for slots waits longer than other commands. After one such wait without a reply, it waits
/// only as long as other commands, until a reply comes.
final class SlotDeadline: Sendable {
    private let isSilent = Atomic<Bool>(false)
    private let ordinary: Duration
    private let longest: Duration

    /// Makes a rule: ten times the deadline of other commands, up to a second, and never less than that deadline.
    init(commandDeadline: Duration) {
        ordinary = commandDeadline
        longest = max(commandDeadline, min(commandDeadline * 10, .seconds(1)))
    }

    /// Sends a command with the current deadline.
    ///
    /// - Parameters:
    ///   - isDegraded: whether the circuit is open or probing; the command then has the deadline of other commands.
    ///   - maximumWait: how long a request may wait for its slot; the deadline is not longer, but at least that of
    ///     other commands.
    ///   - command: sends the command with its deadline.
    /// - Returns: what `command` returns.
    /// - Throws: what `command` throws.
    func apply<Reply>(
        isDegraded: Bool, maximumWait: Duration? = nil, _ command: (Duration) async throws -> Reply
    ) async throws -> Reply {
        let limit =
            isDegraded || isSilent.load(ordering: .relaxed)
            ? ordinary : max(ordinary, min(longest, maximumWait ?? longest))
        do {
            let reply = try await command(limit)
            isSilent.store(false, ordering: .relaxed)
            return reply
        } catch let error as FleetError {
            if error == .timedOut(after: longest) { isSilent.store(true, ordering: .relaxed) }
            throw error
        }
    }
}
