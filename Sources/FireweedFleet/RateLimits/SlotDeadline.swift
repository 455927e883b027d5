// The longest wait for slots.

import Synchronization

/// Says how long a command for slots may wait for its reply.
///
/// A server that is silent for a moment still gives the slots that it was asked for. A process that went over to its
/// share meanwhile would send beside these slots and beside those of other processes, up to twice the limit together.
/// So slots are waited for longer than other replies, until that was in vain once: then only for as long as other
/// replies, until a reply comes.
final class SlotDeadline: Sendable {
    private let isSilent = Atomic<Bool>(false)
    private let ordinary: Duration
    private let longest: Duration

    /// Makes a rule: ten times the deadline of other commands, up to a second, and never less than that deadline.
    init(commandDeadline: Duration) {
        ordinary = commandDeadline
        longest = max(commandDeadline, min(commandDeadline * 10, .seconds(1)))
    }

    /// Performs a command with the deadline that it has now.
    ///
    /// - Parameters:
    ///   - isDegraded: whether the server is left alone already; it is then tried with the deadline of other commands.
    ///   - maximumWait: how long a request may wait for its slot; the reply is waited for no longer than that, or than
    ///     for other replies.
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
