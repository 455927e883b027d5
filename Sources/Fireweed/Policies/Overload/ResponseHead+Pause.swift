// The pauses that servers ask for.

import FireweedTransport
import Foundation

extension ResponseHead {
    /// The time in which nothing may be sent: the longer one of `Retry-After` and a used-up quota of `RateLimit`.
    func requestedPause(now: Date) -> Duration {
        let fields = RateLimitFields(status: status, now: now) { value(of: $0) }
        let rest = fields.quota.map { $0.remaining == 0 ? $0.seconds : 0 } ?? 0
        return .seconds(max(fields.pause ?? 0, rest))
    }
}
