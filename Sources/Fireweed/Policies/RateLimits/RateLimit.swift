// A number of requests in a period.

/// A rate of requests, and how many requests a burst may have.
///
/// The generic cell rate algorithm: each request takes one slot, slots are `period / count` apart, and after a pause up
/// to `burst` requests are sent at once.
public struct RateLimit: Sendable, Hashable {
    /// The number of requests in each `period`; at least 1.
    public let count: Int
    /// The time for `count` requests; longer than zero.
    public let period: Duration
    /// How many requests are sent at once after a time without requests; at least 1.
    ///
    /// With 1, requests are evenly spaced, and no window of one period has more than `count + 1` of them.
    public let burst: Int

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - count: how many requests are sent in each period; less than 1 counts as 1.
    ///   - period: the time for `count` requests, one second by default; zero or less counts as one nanosecond.
    ///   - burst: how many requests are sent at once after a time without requests, 1 by default; less than 1 counts
    ///     as 1.
    public init(_ count: Int, per period: Duration = .seconds(1), burst: Int = 1) {
        self.count = max(1, count)
        self.period = max(.nanoseconds(1), period)
        self.burst = max(1, burst)
    }

    /// The time between two slots, in nanoseconds; at least 1.
    package var interval: UInt64 { max(1, period.nanosecondCount / UInt64(count)) }
    /// How far ahead of its slot a request may be sent, in nanoseconds.
    package var tolerance: UInt64 {
        let (product, isOver) = interval.multipliedReportingOverflow(by: UInt64(burst - 1))
        return isOver ? .max / 4 : min(product, .max / 4)
    }

    /// The limit for slots that processes share: each period is longer by a reserve of 3.5 %, at most 35 ms.
    ///
    /// A request leaves a little after its slot. While no request is later than the reserve plus one interval, no
    /// period has more than `count + burst` requests.
    package var withReserve: RateLimit {
        RateLimit(count, per: period + reserve, burst: burst)
    }

    /// How late a request may use a slot of a limit that processes share; a later request takes another slot.
    ///
    /// A third of the sum of the reserve and one interval; the other two thirds are for the delay from the limiter to
    /// the wire. At least 10 ms, since timers on a busy machine are not more exact. `Scripts/fleet-rate` measures what
    /// arrives at an origin.
    package var lateness: Duration {
        max(.milliseconds(10), (.nanoseconds(Int64(clamping: interval)) + reserve) / 3)
    }

    private var reserve: Duration { min(period / 1000 * 35, .milliseconds(35)) }

    /// Returns the part of the limit that each of several processes may use.
    package func share(of processCount: Int) -> RateLimit {
        RateLimit(count, per: period * max(1, processCount), burst: max(1, burst / max(1, processCount)))
    }
}

extension Duration {
    /// The duration in nanoseconds, limited to the range from zero to about 146 years.
    package var nanosecondCount: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 4_611_686_018 else { return 4_611_686_018_000_000_000 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
