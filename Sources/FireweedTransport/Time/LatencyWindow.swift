// A window of recent response times.

/// The durations of an origin's last fifty responses, each kept for half a minute.
///
/// Pure: moments are arguments, in nanoseconds of a monotonic clock. Adding a duration is cheap: quantiles are computed
/// when they are read.
package struct LatencyWindow: Sendable {
    private struct Sample {
        let nanoseconds: UInt64
        let moment: UInt64
    }

    private var samples: [Sample] = []
    /// The index of the oldest sample, once there are fifty.
    private var oldest = 0
    /// The sorted durations; empty when the samples have changed since the last sort.
    private var sorted: [UInt64] = []

    private static let capacity = 50
    /// The least number of samples for a quantile.
    package static let leastCount = 10
    /// Older samples are dropped, so that an origin is not judged by responses from before a quiet time.
    package static let longestAge: UInt64 = 30_000_000_000

    /// Makes an empty window.
    package init() {}

    /// Adds the duration of a response, in nanoseconds.
    package mutating func note(_ nanoseconds: UInt64, at now: UInt64) {
        if !sorted.isEmpty { sorted = [] }
        let sample = Sample(nanoseconds: nanoseconds, moment: now)
        guard samples.count == Self.capacity else { return samples.append(sample) }
        samples[oldest] = sample
        oldest = oldest + 1 == Self.capacity ? 0 : oldest + 1
    }

    /// The longest duration among the quickest tenth; `nil` with fewer than ten samples.
    package mutating func quickestTenth(at now: UInt64) -> UInt64? { quantile(1, at: now) }

    /// The duration that 95 % of the samples do not exceed; `nil` with fewer than ten samples.
    package mutating func percentile95(at now: UInt64) -> UInt64? { quantile(9.5, at: now) }

    private mutating func quantile(_ tenths: Double, at now: UInt64) -> UInt64? {
        forgetOldSamples(at: now)
        guard samples.count >= Self.leastCount else { return nil }
        if sorted.isEmpty { sorted = samples.map(\.nanoseconds).sorted() }
        return sorted[Int((Double(sorted.count) * tenths / 10).rounded(.up)) - 1]
    }

    private mutating func forgetOldSamples(at now: UInt64) {
        guard oldest < samples.count, Self.isOld(samples[oldest], at: now) else { return }
        samples = (samples[oldest...] + samples[..<oldest]).filter { !Self.isOld($0, at: now) }
        (oldest, sorted) = (0, [])
    }

    private static func isOld(_ sample: Sample, at now: UInt64) -> Bool {
        now > sample.moment.addingSaturating(longestAge)
    }
}
