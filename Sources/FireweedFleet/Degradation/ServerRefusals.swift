// The record of commands that an answering server refuses.

/// Records the commands that the server refuses: memory, a permission or replicas are missing, a value has another
/// type, a script fails, or a reply makes no sense.
///
/// Pure: every event brings the time, in nanoseconds of a monotonic clock. Refusals do not open the circuit breaker:
/// the replies come immediately, and other commands may succeed. Refusals end when one of the refused commands
/// succeeds, at least a second after the last refusal: the command may succeed for one key and fail for another.
struct ServerRefusals: Sendable, Equatable {
    static let quietTime: UInt64 = 1_000_000_000

    /// `nil` while nothing is refused.
    private var since: UInt64?
    private var last: UInt64 = 0
    private var commands: Set<RESPArgument> = []

    /// Notes a refused command; returns true for the first refusal since refusals last ended.
    mutating func refused(_ command: RESPArgument, at now: UInt64) -> Bool {
        defer { since = since ?? now }
        last = now
        commands.insert(command)
        return since == nil
    }

    /// Notes a command that succeeded; returns how many nanoseconds the refusals lasted if they end now, otherwise
    /// `nil`.
    mutating func succeeded(_ command: RESPArgument, at now: UInt64) -> UInt64? {
        guard let since, commands.contains(command), now - min(now, last) >= Self.quietTime else { return nil }
        self = ServerRefusals()
        return now - min(now, since)
    }
}
