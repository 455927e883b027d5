// Pings that wait for their pong.

import Foundation

/// Numbers pings, finds the pings that a pong answers, and keeps the time of the next automatic ping.
struct PendingPings {
    typealias Completion = @Sendable (TransferFailure?) -> Void

    private var open: [(number: UInt64, completion: Completion?)] = []
    private var count: UInt64 = 0
    private var interval: LoopInstant?
    private var due: LoopInstant?

    /// Starts automatic pings, if an interval is given that is positive and finite.
    mutating func begin(every seconds: TimeInterval?, now: LoopInstant) {
        guard let seconds, seconds > 0, seconds.isFinite else { return }
        interval = seconds.nanoseconds
        due = interval.map { now.addingSaturating($0) }
    }

    /// When the next automatic ping is due, while the WebSocket is open.
    func deadline(isOpen: Bool) -> LoopInstant? {
        isOpen ? due : nil
    }

    /// True while an automatic ping has no answer.
    var isAutomaticPingOpen: Bool { open.contains { $0.completion == nil } }

    /// The payload of a ping whose pong `completion` waits for.
    mutating func add(_ completion: @escaping Completion) -> [UInt8] {
        number(completion)
    }

    /// The payload of an automatic ping, and the next one's time; `nil` while one has no answer.
    mutating func addAutomatic(now: LoopInstant) -> [UInt8]? {
        due = interval.map { now.addingSaturating($0) }
        return isAutomaticPingOpen ? nil : number(nil)
    }

    private mutating func number(_ completion: Completion?) -> [UInt8] {
        count += 1
        open.append((count, completion))
        return withUnsafeBytes(of: count.bigEndian) { Array($0) }
    }

    /// A pong answers its ping and all earlier ones, since a peer may answer only the latest ping (RFC 6455 §5.5.3).
    mutating func answer(_ payload: [UInt8]) {
        guard payload.count == 8 else { return }  // unsolicited, which is allowed
        let number = payload.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard open.contains(where: { $0.number == number }) else { return }
        let answered = open.prefix { $0.number <= number }
        open.removeFirst(answered.count)
        for ping in answered { ping.completion?(nil) }
    }

    /// Calls all waiting completions, with the reason why no pong will come.
    mutating func fail(_ cause: TransferFailure) {
        let failed = open
        open = []
        for ping in failed { ping.completion?(cause) }
    }
}
