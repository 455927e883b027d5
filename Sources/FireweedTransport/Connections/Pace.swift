// The limit on the rate of an exchange's content.

/// A limit on the average rate of bytes: a token bucket.
///
/// Pure: moments of the clock are arguments.
struct Pace {
    private let bytesPerSecond: UInt64
    /// The time in which the bucket fills, in nanoseconds.
    private let burstTime: LoopInstant
    /// The moment at which the bucket is full again.
    private var settled: LoopInstant = 0

    /// Makes a limit that allows a full burst at first.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: the rate; more than zero.
    ///   - burst: the number of bytes that may move at once; raised to the bytes of a quarter of a second if less.
    init(bytesPerSecond: Int, burst: Int) {
        self.bytesPerSecond = UInt64(bytesPerSecond)
        burstTime = max(Self.time(of: burst, at: self.bytesPerSecond), 250_000_000)
    }

    /// Makes the limit of an option; `nil` if the option is `nil`, zero or less.
    init?(_ bytesPerSecond: Int?, burst: Int) {
        guard let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        self.init(bytesPerSecond: bytesPerSecond, burst: burst)
    }

    /// Counts bytes that have moved.
    mutating func move(_ byteCount: Int, at now: LoopInstant) {
        settled = max(settled, now).addingSaturating(Self.time(of: byteCount, at: bytesPerSecond))
    }

    /// The moment from which bytes may move again; `nil` if they may move now.
    func pauseEnd(at now: LoopInstant) -> LoopInstant? {
        settled > now.addingSaturating(burstTime) ? settled - burstTime : nil
    }

    /// The number of bytes that may move now; at least 1024, so that bytes do not move in tiny pieces.
    func allowance(at now: LoopInstant) -> Int {
        let free = now.addingSaturating(burstTime) - min(settled, now.addingSaturating(burstTime))
        let (product, overflow) = min(free, burstTime).multipliedReportingOverflow(by: bytesPerSecond)
        return overflow ? .max : max(1024, Int(clamping: product / 1_000_000_000))
    }

    private static func time(of byteCount: Int, at bytesPerSecond: UInt64) -> LoopInstant {
        let (product, overflow) = UInt64(byteCount).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : product / bytesPerSecond
    }
}

/// The rate limits of one exchange's content (`TransportOptions.maximumReceivedBytesPerSecond`,
/// `maximumSentBytesPerSecond`).
///
/// Used on the loop's thread.
final class ExchangePace {
    private var receiving: Pace?
    private var sending: Pace?
    /// Whether bytes wait until a rate limit allows them.
    private var isWaiting = false

    private init(receiving: Pace?, sending: Pace?) {
        (self.receiving, self.sending) = (receiving, sending)
    }

    /// Makes the rate limits of the options; `nil` if there are none, which saves an object.
    static func make(_ options: TransportOptions) -> ExchangePace? {
        let receiving = Pace(
            options.maximumReceivedBytesPerSecond, burst: min(100 * 1024, options.maximumReceivedBytesPerSecond ?? 0))
        let sending = Pace(options.maximumSentBytesPerSecond, burst: 16 * 1024)
        return receiving == nil && sending == nil ? nil : ExchangePace(receiving: receiving, sending: sending)
    }

    func received(_ byteCount: Int, at now: LoopInstant) {
        receiving?.move(byteCount, at: now)
        if !mayReceive(at: now) { isWaiting = true }
    }

    func sent(_ byteCount: Int, at now: LoopInstant) {
        sending?.move(byteCount, at: now)
        if !maySend(at: now) { isWaiting = true }
    }

    func mayReceive(at now: LoopInstant) -> Bool { receiving?.pauseEnd(at: now) == nil }
    func maySend(at now: LoopInstant) -> Bool { sending?.pauseEnd(at: now) == nil }

    /// The most bytes for one read, and for one write.
    func receivingAllowance(at now: LoopInstant) -> Int { receiving?.allowance(at: now) ?? .max }
    func sendingAllowance(at now: LoopInstant) -> Int { sending?.allowance(at: now) ?? .max }

    /// The moment at which waiting bytes may move; `nil` if no bytes wait.
    func wakeUp(at now: LoopInstant) -> LoopInstant? {
        guard isWaiting else { return nil }
        return [receiving?.pauseEnd(at: now), sending?.pauseEnd(at: now)].compactMap { $0 }.min() ?? now
    }

    /// Whether waiting bytes may move now; if so, the caller moves them.
    func takeDue(at now: LoopInstant) -> Bool {
        guard isWaiting, mayReceive(at: now) || maySend(at: now) else { return false }
        isWaiting = !mayReceive(at: now) || !maySend(at: now)
        return true
    }
}
