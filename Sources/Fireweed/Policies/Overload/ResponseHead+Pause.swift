// The pauses that servers ask for.

import FireweedTransport
import Foundation

extension ResponseHead {
    /// Returns the pause that the server asks for: the longer of `Retry-After` and the time to the reset of a used-up
    /// `RateLimit` quota; zero for none.
    func requestedPause(now: Date) -> Duration {
        let fields = RateLimitFields(status: status, now: now) { value(of: $0) }
        let rest = fields.quota.map { $0.remaining == 0 ? $0.seconds : 0 } ?? 0
        return .seconds(max(fields.pause ?? 0, rest))
    }
}
