// How long to wait before a retry.

import Foundation

/// Computes the delay before a retry.
///
/// Pure: what was observed of the request comes in, randomness too.
struct RetryDelay {
    let base: UInt
    let scale: Double
    let options: RetryOptions

    /// What was observed of a failed request.
    struct Evidence {
        var retryCount: Int
        /// The value of `Retry-After`, if the response had one.
        var retryAfter: String?
        /// Seconds since the first attempt began.
        var elapsed: TimeInterval
        var now: Date
        /// From 0 to 1.
        var random: Double
    }

    /// Seconds to wait, or `nil` when the request should not be retried: it would come too late.
    func seconds(for evidence: Evidence) -> TimeInterval? {
        var delay = backoff(evidence)
        if case .obey(let limit) = options.retryAfter, let field = evidence.retryAfter,
            let asked = RetryAfter.seconds(in: field, now: evidence.now)
        {
            guard asked <= limit.seconds else { return nil }
            delay = options.jitter == .none ? asked : asked + delay
        }
        if let deadline = options.deadline, evidence.elapsed + delay > deadline.seconds { return nil }
        return delay
    }

    private func backoff(_ evidence: Evidence) -> TimeInterval {
        let exponential = pow(Double(base), Double(evidence.retryCount)) * scale
        // Not a number comes from infinity times zero: a scale of zero means no delay.
        let bounded = exponential.isNaN ? 0 : max(0, min(exponential, options.maximumDelay?.seconds ?? .infinity))
        switch options.jitter {
        case .none: return bounded
        case .full: return bounded.isFinite ? bounded * evidence.random : bounded
        }
    }
}
