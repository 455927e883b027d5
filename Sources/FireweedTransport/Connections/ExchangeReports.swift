// The reports of an exchange's messages.

/// The reports of an exchange: one for each time that its message was sent.
struct ExchangeReports {
    /// The report of the present message.
    var current = TransferReport()
    /// The reports of earlier messages, the first one first.
    private(set) var earlier: [TransferReport] = []
    /// When the exchange began; 0 before.
    private var start: LoopInstant = 0

    /// Notes that the exchange begins.
    mutating func begin(at now: LoopInstant) {
        start = now
        current.startNanoseconds = WallClock.nanoseconds
    }

    /// Ends the report of the present message, and begins the next one.
    mutating func beginAgain(at now: LoopInstant) {
        end(at: now)
        earlier.append(current)
        current = TransferReport()
        current.startNanoseconds = earlier[0].startNanoseconds
    }

    /// Notes the end of the exchange; the total time of an exchange that never began is 0.
    mutating func end(at now: LoopInstant) {
        current.total = start > 0 ? moment(now) : 0
    }

    /// Microseconds from the beginning until a moment; at least 1, since 0 means that an event did not happen.
    func moment(_ instant: LoopInstant) -> Int64 {
        max(1, Int64((max(instant, start) - start) / 1000))
    }
}
