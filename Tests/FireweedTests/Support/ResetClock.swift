// A clock whose date somebody has set.

import Dispatch
import Fireweed
import FireweedTesting
import Foundation

/// The monotonic time of another clock, beside a date that stays.
struct ResetClock: SessionClock {
    let base: TestClock
    let now: Date

    var monotonicNanoseconds: UInt64 { base.monotonicNanoseconds }

    func schedule(
        _ purpose: SchedulingPurpose, after duration: Duration, on queue: DispatchQueue,
        _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledCall {
        base.schedule(purpose, after: duration, on: queue, work)
    }
}
