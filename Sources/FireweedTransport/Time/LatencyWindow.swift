// The durations of the last responses.

/// Keeps how long the last fifty responses of an origin took, for half a minute each.
///
/// Pure: moments are arguments, in nanoseconds of a clock that never goes back. It is cheap to write: quantiles are
/// worked out when somebody asks.
package struct LatencyWindow: Sendable {
    private struct Sample {
        let nanoseconds: UInt64
        let moment: UInt64
    }

    private var samples: [Sample] = []
    /// The index of the oldest sample, once there are fifty.
    private var oldest = 0
    /// The durations in order; empty when the samples have changed since they were sorted.
    private var sorted: [UInt64] = []

    private static let capacity = 50
    /// With fewer samples nothing is known.
    package static let leastCount = 10
    /// An older sample does not count, so that an origin is not judged by what it did before it was quiet.
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

    /// The longest duration among the quickest tenth; `nil` as long as fewer than ten are known.
    package mutating func quickestTenth(at now: UInt64) -> UInt64? { quantile(1, at: now) }

    /// The duration that 95 of 100 do not exceed; `nil` as long as fewer than ten are known.
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
