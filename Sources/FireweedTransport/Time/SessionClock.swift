// The clock of a session and its transport.

import CLinux
public import Dispatch
public import Foundation
import Glibc
import Synchronization

/// Gives the time and schedules calls; a session uses the clock of its transport.
///
/// Every method may be called from any thread. ``SystemClock`` follows the machine's time; tests use a clock that they
/// advance themselves.
public protocol SessionClock: Sendable {
    /// The current date, for ages, expiry dates and `Retry-After`.
    var now: Date { get }
    /// Nanoseconds on a clock that never goes back, for time-outs and deadlines.
    var monotonicNanoseconds: UInt64 { get }

    /// Calls `work` once on `queue` when a duration is over, unless the call is cancelled before.
    ///
    /// - Parameters:
    ///   - purpose: whether the caller waits for the time, or the call limits something that is in progress.
    ///   - duration: the time until the call; zero or less calls as soon as the queue can.
    ///   - queue: where `work` is called.
    ///   - work: the work; called at most once.
    /// - Returns: an object that cancels the call. Releasing it cancels nothing.
    @discardableResult
    func schedule(
        _ purpose: SchedulingPurpose, after duration: Duration, on queue: DispatchQueue,
        _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledCall
}

/// The reason why a call is scheduled; a test clock that advances automatically does so for delays, but not when only
/// limits are scheduled.
public enum SchedulingPurpose: Sendable, Hashable {
    /// The caller waits for this moment, as before a retry.
    case delay
    /// The call ends something that is in progress, as a deadline does.
    case limit
}

/// A scheduled call of a clock.
public protocol ScheduledCall: Sendable {
    /// Cancels the call; does nothing once the call has begun.
    func cancel()
}

/// The machine's clock.
public struct SystemClock: SessionClock {
    /// Makes the clock.
    public init() {}

    /// The machine's date.
    public var now: Date { Date() }
    /// The machine's monotonic clock (`CLOCK_MONOTONIC`).
    public var monotonicNanoseconds: UInt64 { fw_clock_nanoseconds(CLOCK_MONOTONIC) }

    /// Calls `work` with a Dispatch timer; `purpose` has no effect.
    @discardableResult
    public func schedule(
        _ purpose: SchedulingPurpose, after duration: Duration, on queue: DispatchQueue,
        _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledCall {
        let call = SystemCall(work)
        let seconds = max(0, duration / .seconds(1))
        queue.asyncAfter(deadline: .now() + seconds) { call.make() }
        return call
    }
}

/// A call that a Dispatch timer makes, unless it is cancelled before.
private final class SystemCall: ScheduledCall {
    private let work: Mutex<(@Sendable () -> Void)?>

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = Mutex(work)
    }

    func make() { work.withLock { $0.take() }?() }

    func cancel() { _ = work.withLock { $0.take() } }
}

extension SessionClock where Self == SystemClock {
    /// The machine's clock.
    public static var system: SystemClock { SystemClock() }
}
