// The outlook of a waiting message: whether its response can come in time.

/// Estimates whether a deadline can still be met, from the durations of the origin's last responses.
///
/// Pure. A message is hopeless when even a quick response would come too late, and doubtful when only quick responses
/// would come in time.
struct DeadlineOutlook: Equatable {
    enum Verdict: Equatable, CaseIterable {
        /// Most responses would come in time.
        case good
        /// A quick response would come in time.
        case doubtful
        /// Even a quick response would come too late.
        case hopeless
    }

    /// The longest time among the quickest tenth of the last responses, in nanoseconds.
    let needed: UInt64
    /// The time within which most responses come.
    ///
    /// The 95th percentile, but at least twice and at most four times `needed`: a few quick samples must not make the
    /// time too short, and an origin's long downloads must not delay its short requests.
    let usual: UInt64

    /// Makes an outlook from the durations of recent responses; `nil` with fewer than ten of them.
    init?(_ latencies: inout LatencyWindow, at now: UInt64) {
        guard let quick = latencies.quickestTenth(at: now), let most = latencies.percentile95(at: now) else {
            return nil
        }
        needed = quick
        usual = min(max(most, quick.addingSaturating(quick)), quick.multipliedSaturating(by: 4))
    }

    /// The verdict on a message with `remaining` nanoseconds left to its deadline.
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
