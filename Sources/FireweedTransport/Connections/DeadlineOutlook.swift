// The chances of a waiting message to be answered in time.

/// Judges whether a deadline can still be met, by how long the last responses of the origin took.
///
/// Pure. A message is hopeless when even a quick response would come too late, and doubtful when many responses would.
struct DeadlineOutlook: Equatable {
    enum Verdict: Equatable, CaseIterable {
        /// Most responses would come in time.
        case good
        /// A quick response would come in time.
        case doubtful
        /// No response would come in time.
        case hopeless
    }

    /// How long the quickest tenth of the last responses took, in nanoseconds.
    let needed: UInt64
    /// The time within which most responses come.
    ///
    /// It is the 95th percentile within twice and four times the quickest tenth: a few quick samples must not make it
    /// too short, and the long downloads of an origin must not push its short requests back.
    let usual: UInt64

    /// `nil` as long as too few responses are known.
    init?(_ latencies: inout LatencyWindow, at now: UInt64) {
        guard let quick = latencies.quickestTenth(at: now), let most = latencies.percentile95(at: now) else {
            return nil
        }
        needed = quick
        usual = min(max(most, quick.addingSaturating(quick)), quick.multipliedSaturating(by: 4))
    }

    /// The verdict on a message with so many nanoseconds left to its deadline.
    func verdict(remaining: UInt64) -> Verdict {
        if remaining < needed { .hopeless } else if remaining < usual { .doubtful } else { .good }
    }
}

extension UInt64 {
    fileprivate func multipliedSaturating(by factor: UInt64) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max : product
    }
}
