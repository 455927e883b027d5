// The durations of the last responses.

/// Keeps how long the last fifty responses of an origin took.
///
/// Pure, and cheap to write: quantiles are worked out when somebody asks.
package struct LatencyWindow: Sendable {
    private var samples: [UInt64] = []
    /// The index of the oldest sample, once there are fifty.
    private var oldest = 0
    /// The samples in order; empty when a sample came since they were sorted.
    private var sorted: [UInt64] = []

    private static let capacity = 50
    /// With fewer samples nothing is known.
    package static let leastCount = 10

    /// Makes an empty window.
    package init() {}

    /// Adds the duration of a response, in nanoseconds.
    package mutating func note(_ nanoseconds: UInt64) {
        if !sorted.isEmpty { sorted = [] }
        guard samples.count == Self.capacity else { return samples.append(nanoseconds) }
        samples[oldest] = nanoseconds
        oldest = oldest + 1 == Self.capacity ? 0 : oldest + 1
    }

    /// The longest duration among the quickest tenth; `nil` as long as fewer than ten are known.
    package mutating func quickestTenth() -> UInt64? { quantile(1) }

    /// The duration that 95 of 100 do not exceed; `nil` as long as fewer than ten are known.
    package mutating func percentile95() -> UInt64? { quantile(9.5) }

    private mutating func quantile(_ tenths: Double) -> UInt64? {
        guard samples.count >= Self.leastCount else { return nil }
        if sorted.isEmpty { sorted = samples.sorted() }
        return sorted[Int((Double(sorted.count) * tenths / 10).rounded(.up)) - 1]
    }
}
