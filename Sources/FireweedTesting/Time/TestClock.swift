// A clock that a test drives.

public import Dispatch
public import Fireweed
public import Foundation
import Synchronization

/// A session's clock that a test advances, or that advances automatically when a session or a stub waits.
///
/// Retries and their back-off, `Retry-After`, `Request.deadline(_:)`, time-outs and delays of stubs, the age of stored
/// responses, expiry dates of cookies, refresh windows of `AuthenticationInterceptor` and `OfflineRetrier` use this
/// clock.
///
/// ```swift
/// let clock = TestClock.automatic
/// let session = Session.stubbed(clock: clock, interceptor: RetryPolicy(retryLimit: 5)) {
///     Stub.get("/report").reply(.status(503))
/// }
/// _ = await session.request("https://example.com/report").validate().serializingData().response
/// #expect(clock.elapsed == .milliseconds(15_500))  // 0.5 + 1 + 2 + 4 + 8 seconds, without waiting for them
/// ```
public final class TestClock: SessionClock {
    private struct State {
        var elapsed = Duration.zero
        var calls: [PendingCall] = []
        var count = 0
        /// The waiting callers of `delayIsPending()`, by number.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        /// Whether an automatic clock rests: a limit has just taken effect, which may cancel pending delays.
        var isResting = false

        /// Advances, and removes and returns the calls that are due, earliest first.
        mutating func advance(by duration: Duration) -> [PendingCall] {
            elapsed = TestClock.sum(elapsed, duration)
            let due = calls.filter { $0.due <= elapsed }
            calls.removeAll { $0.due <= elapsed }
            return due.sorted { ($0.due, $0.number) < ($1.due, $1.number) }
        }
    }

    private let state = Mutex(State())
    private let start: Date
    private let isAutomatic: Bool

    /// Makes a clock that stands still until ``advance(by:)``.
    ///
    /// - Parameter start: its first date; the current date by default, since Foundation's cookie storage drops cookies
    ///   by the system clock.
    public convenience init(start: Date = Date()) {
        self.init(start: start, isAutomatic: false)
    }

    private init(start: Date, isAutomatic: Bool) {
        self.start = start
        self.isAutomatic = isAutomatic
    }

    /// A new clock that advances as soon as a session or a stub waits for a delay: to the earliest scheduled moment.
    ///
    /// Limits, such as deadlines, take effect on the way; a limit alone does not advance the clock, since the work that
    /// it limits is in progress. After a limit the clock stops for 50 ms of real time, so that the limit's effect can
    /// end delays. ``advance(by:)`` works too.
    public static var automatic: TestClock { TestClock(start: Date(), isAutomatic: true) }

    /// The time by which the clock was advanced.
    public var elapsed: Duration { state.withLock { $0.elapsed } }

    /// The first date plus the elapsed time.
    public var now: Date { start.addingTimeInterval(elapsed.seconds) }

    /// The elapsed time in nanoseconds, plus one second.
    ///
    /// Elapsed time beyond 2⁶² ns, about 146 years, is not counted, and has no effect on time-outs.
    public var monotonicNanoseconds: UInt64 {
        let (seconds, attoseconds) = min(elapsed, Self.longestMonotonic).components
        return Self.origin + UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }

    private static let longestMonotonic = Duration.nanoseconds(1 << 62)
    /// The longest elapsed time, so that sums stay in the range of `Duration`.
    private static let longest = Duration.seconds(1 << 60)

    fileprivate static func sum(_ elapsed: Duration, _ duration: Duration) -> Duration {
        min(longest, elapsed + min(longest, max(.zero, duration)))
    }

    /// The monotonic time at the start: not zero, which means "none" in reports.
    private static let origin: UInt64 = 1_000_000_000

    // MARK: Advancing

    /// Advances the clock; calls that are then due begin, in the order of time, on the queues for which they were
    /// scheduled.
    ///
    /// Returns before these calls have ended. A delay that begins later runs from the new time: to advance past a retry
    /// that is not scheduled yet, call ``delayIsPending()`` first.
    public func advance(by duration: Duration) {
        for call in state.withLock({ $0.advance(by: duration) }) { call.begin() }
    }

    /// Waits until a session or a stub waits for a delay on this clock, such as before a retry.
    ///
    /// Returns at once when a delay is pending, and when the task is cancelled. Limits, such as deadlines, are ignored.
    public func delayIsPending() async {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state -> Bool in
                    // Checked under the lock: either the handler below finds the waiter, or this check finds the
                    // cancellation.
                    let isOver = Task.isCancelled || state.calls.contains { $0.purpose == .delay }
                    if !isOver { state.waiters[number] = continuation }
                    return isOver
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    // MARK: SessionClock

    /// Schedules `work` for the moment at which the clock has been advanced by `duration`.
    ///
    /// An automatic clock advances at once when the purpose is a delay.
    ///
    /// - Parameters:
    ///   - purpose: whether the caller waits for the time, or limits work that is in progress.
    ///   - duration: the time until the call.
    ///   - queue: where `work` is called.
    ///   - work: the work; called at most once.
    /// - Returns: an object that cancels the call.
    @discardableResult
    public func schedule(
        _ purpose: SchedulingPurpose, after duration: Duration, on queue: DispatchQueue,
        _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledCall {
        let (call, waiters) = state.withLock {
            state -> (PendingCall, [Int: CheckedContinuation<Void, Never>]) in
            state.count += 1
            let call = PendingCall(
                number: state.count, due: Self.sum(state.elapsed, duration), purpose: purpose,
                queue: queue,
                work: work)
            state.calls.append(call)
            guard purpose == .delay else { return (call, [:]) }
            defer { state.waiters = [:] }
            return (call, state.waiters)
        }
        for waiter in waiters.values { waiter.resume() }
        if isAutomatic, purpose == .delay { jump() }
        return TestCall(clock: self, call: call)
    }

    /// Advances to the earliest scheduled call, repeatedly while a delay is pending; rests after a limit.
    private func jump() {
        while true {
            let due = state.withLock { state -> [PendingCall] in
                guard !state.isResting, state.calls.contains(where: { $0.purpose == .delay }),
                    let next = state.calls.map(\.due).min()
                else { return [] }
                let due = state.advance(by: next - state.elapsed)
                state.isResting = due.contains { $0.purpose == .limit }
                return due
            }
            guard !due.isEmpty else { return }
            for call in due { call.begin() }
            if due.contains(where: { $0.purpose == .limit }) { return rest() }
        }
    }

    /// Stops the automatic clock for 50 ms, in which the effects of a limit run.
    private func rest() {
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) { [weak self] in
            guard let self else { return }
            state.withLock { $0.isResting = false }
            jump()
        }
    }

    fileprivate func cancel(_ call: PendingCall) {
        call.cancel()
        state.withLock { $0.calls.removeAll { $0 === call } }
    }
}

/// A call that waits for the clock.
private final class PendingCall: Sendable {
    let number: Int
    let due: Duration
    let purpose: SchedulingPurpose
    private let queue: DispatchQueue
    private let work: Mutex<(@Sendable () -> Void)?>

    init(
        number: Int, due: Duration, purpose: SchedulingPurpose, queue: DispatchQueue,
        work: @escaping @Sendable () -> Void
    ) {
        self.number = number
        self.due = due
        self.purpose = purpose
        self.queue = queue
        self.work = Mutex(work)
    }

    func begin() {
        queue.async { [self] in work.withLock { $0.take() }?() }
    }

    func cancel() { _ = work.withLock { $0.take() } }
}

private final class TestCall: ScheduledCall {
    private weak let clock: TestClock?
    private let call: PendingCall

    init(clock: TestClock, call: PendingCall) {
        self.clock = clock
        self.call = call
    }

    func cancel() {
        if let clock { clock.cancel(call) } else { call.cancel() }
    }
}
