// The table of requests that an answering server refuses.

/// Notes the commands that the server refuses: for want of memory, of a permission or of replicas, for a value of
/// another type, by an error of a script, or with an answer that makes no sense.
///
/// Pure: every event brings the time, in nanoseconds of a clock that never goes back. Refusals do not open the circuit
/// breaker: the answers come at once, and other commands may succeed. Refusals end when one of the refused commands
/// succeeds, a second after the last refusal at the earliest: one of two keys may be at fault.
struct ServerRefusals: Sendable, Equatable {
    static let quietTime: UInt64 = 1_000_000_000

    /// `nil` while nothing is refused.
    private var since: UInt64?
    private var last: UInt64 = 0
    private var commands: Set<RESPArgument> = []

    /// A command was refused; true for the first one since the last success.
    mutating func refused(_ command: RESPArgument, at now: UInt64) -> Bool {
        defer { since = since ?? now }
        last = now
        commands.insert(command)
        return since == nil
    }

    /// A command succeeded; returns for how many nanoseconds commands were refused, when that is over.
    mutating func succeeded(_ command: RESPArgument, at now: UInt64) -> UInt64? {
        guard let since, commands.contains(command), now - min(now, last) >= Self.quietTime else { return nil }
        self = ServerRefusals()
        return now - min(now, since)
    }
}
