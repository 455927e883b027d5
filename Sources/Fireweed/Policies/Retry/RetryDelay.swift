// The delay before a retry.

import Foundation

/// Computes the delay before a retry.
///
/// Pure: observations and randomness are arguments.
struct RetryDelay {
    let base: UInt
    let scale: Double
    let options: RetryOptions

    /// The observations about a failed request.
    struct RetryContext {
        var retryCount: Int
        /// The value of `Retry-After`, if the response had one.
        var retryAfter: String?
        /// Seconds since the first attempt began.
        var elapsed: TimeInterval
        var now: Date
        /// A random number from 0 to 1.
        var random: Double
    }

    /// Returns the seconds to wait; `nil`, for no retry, if `Retry-After` exceeds its limit or the retry would begin
    /// after the deadline.
    func seconds(for circumstances: RetryContext) -> TimeInterval? {
        var delay = backoff(circumstances)
        if case .obey(let limit) = options.retryAfter, let field = circumstances.retryAfter,
            let asked = RetryAfter.seconds(in: field, now: circumstances.now)
        {
            guard asked <= limit.seconds else { return nil }
            delay = options.jitter == .none ? asked : asked + delay
        }
        if let deadline = options.deadline, circumstances.elapsed + delay > deadline.seconds { return nil }
        return delay
    }

    private func backoff(_ circumstances: RetryContext) -> TimeInterval {
        let exponential = pow(Double(base), Double(circumstances.retryCount)) * scale
        // Infinity times zero is NaN: a scale of zero means no delay.
        let bounded = exponential.isNaN ? 0 : max(0, min(exponential, options.maximumDelay?.seconds ?? .infinity))
        switch options.jitter {
        case .none: return bounded
        case .full: return bounded.isFinite ? bounded * circumstances.random : bounded
        }
    }
}
