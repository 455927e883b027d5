// The pings that wait for their pongs.

import Foundation

/// Numbers pings, matches pongs to them, and schedules automatic pings.
struct PendingPings {
    typealias Completion = @Sendable (TransferFailure?) -> Void

    private var open: [(number: UInt64, completion: Completion?)] = []
    private var count: UInt64 = 0
    private var interval: LoopInstant?
    private var due: LoopInstant?

    /// Starts automatic pings; does nothing unless the interval is positive and finite.
    mutating func begin(every seconds: TimeInterval?, now: LoopInstant) {
        guard let seconds, seconds > 0, seconds.isFinite else { return }
        interval = seconds.nanoseconds
        due = interval.map { now.addingSaturating($0) }
    }

    /// Returns the time of the next automatic ping; `nil` if there is none, or if the WebSocket is not open.
    func deadline(isOpen: Bool) -> LoopInstant? {
        isOpen ? due : nil
    }

    /// True while an automatic ping has no pong yet.
    var isAutomaticPingOpen: Bool { open.contains { $0.completion == nil } }

    /// Returns the payload of a new ping; `completion` is called with the pong.
    mutating func add(_ completion: @escaping Completion) -> [UInt8] {
        number(completion)
    }

    /// Schedules the next automatic ping, and returns this one's payload; `nil` while an earlier one has no pong yet.
    mutating func addAutomatic(now: LoopInstant) -> [UInt8]? {
        due = interval.map { now.addingSaturating($0) }
        return isAutomaticPingOpen ? nil : number(nil)
    }

    private mutating func number(_ completion: Completion?) -> [UInt8] {
        count += 1
        open.append((count, completion))
        return withUnsafeBytes(of: count.bigEndian) { Array($0) }
    }

    /// Completes the ping that a pong answers and all earlier pings: a peer may answer only the latest (RFC 6455
    /// §5.5.3).
    mutating func answer(_ payload: [UInt8]) {
        guard payload.count == 8 else { return }  // an unsolicited pong, which is allowed
        let number = payload.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard open.contains(where: { $0.number == number }) else { return }
        let answered = open.prefix { $0.number <= number }
        open.removeFirst(answered.count)
        for ping in answered { ping.completion?(nil) }
    }

    /// Calls all waiting completions with the reason why no pong will arrive.
    mutating func fail(_ cause: TransferFailure) {
        let failed = open
        open = []
        for ping in failed { ping.completion?(cause) }
    }
}
