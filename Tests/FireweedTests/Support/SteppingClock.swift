// A clock that shows another time whenever it is looked at.

import Dispatch
import Fireweed
import Foundation
import Synchronization

/// A monotonic clock that advances by a second with each look, beside a date that somebody sets back with each look.
final class SteppingClock: SessionClock {
    private let seconds = Atomic<UInt64>(1)
    private let days = Atomic<Int>(0)

    var now: Date {
        Date(timeIntervalSinceNow: Double(days.subtract(1, ordering: .relaxed).newValue) * 86_400)
    }

    var monotonicNanoseconds: UInt64 { seconds.add(1, ordering: .relaxed).newValue * 1_000_000_000 }

    func schedule(
        _ purpose: SchedulingPurpose, after duration: Duration, on queue: DispatchQueue,
        _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledCall {
        SystemClock().schedule(purpose, after: duration, on: queue, work)
    }
}
