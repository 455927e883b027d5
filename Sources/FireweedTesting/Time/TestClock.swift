// A clock that a test drives.

public import Dispatch
public import Fireweed
public import Foundation
import Synchronization

/// The clock of a session in a test: minutes pass when the test says so, or as soon as somebody waits for them.
///
/// Retries and their back-off, `Retry-After`, `Request.deadline(_:)`, time-outs and delays of stubs, the age of stored
/// responses, expiry dates of cookies, refresh windows of `AuthenticationInterceptor` and `OfflineRetrier` go by it.
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
        /// Who waits for a delay to be pending, by numbers.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        /// A limit has just passed, and may end what waits.
        var isResting = false

        /// Advances, and takes out what is due until then, in the order of time.
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
    /// - Parameter start: its first date; the machine's, by default, since Foundation's cookie storage drops cookies by
    ///   that.
    public convenience init(start: Date = Date()) {
        self.init(start: start, isAutomatic: false)
    }

    private init(start: Date, isAutomatic: Bool) {
        self.start = start
        self.isAutomatic = isAutomatic
    }

    /// A new clock that advances as soon as a session, or a stub, waits: to the earliest moment for which anybody
    /// waits.
    ///
    /// Limits, such as deadlines, take effect on the way; a limit alone moves nothing, since what it limits is under
    /// way. Behind a limit the clock stands still for 50 ms of real time, in which its effect may end the waiting.
    /// ``advance(by:)`` works too.
    public static var automatic: TestClock { TestClock(start: Date(), isAutomatic: true) }

    /// How far the clock was advanced.
    public var elapsed: Duration { state.withLock { $0.elapsed } }

    /// The date: the first one, and what has elapsed.
    public var now: Date { start.addingTimeInterval(elapsed.seconds) }

    /// Nanoseconds from a beginning that is not zero.
    ///
    /// At most 2⁶² for the elapsed time, which is some 146 years: more has no effect on time-outs.
    public var monotonicNanoseconds: UInt64 {
        let (seconds, attoseconds) = min(elapsed, Self.longestMonotonic).components
        return Self.origin + UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }

    private static let longestMonotonic = Duration.nanoseconds(1 << 62)
    /// Times that are added up stay in the range of `Duration`.
    private static let longest = Duration.seconds(1 << 60)

    fileprivate static func sum(_ elapsed: Duration, _ duration: Duration) -> Duration {
        min(longest, elapsed + min(longest, max(.zero, duration)))
    }

    /// Zero means "none" in reports.
    private static let origin: UInt64 = 1_000_000_000

    // MARK: Advancing

    /// Advances the clock; what is due until then begins, in the order of time, on the queues that it was scheduled
    /// for.
    ///
    /// It returns before that work has ended. What begins to wait later waits from the new time on: to meet a retry
    /// that is not scheduled yet, call ``delayIsPending()`` before.
    public func advance(by duration: Duration) {
        for call in state.withLock({ $0.advance(by: duration) }) { call.begin() }
    }

    /// Waits until a session or a stub waits for this clock, as before a retry.
    ///
    /// Returns at once when one does, and when the task is cancelled. Limits, such as deadlines, do not count.
    public func delayIsPending() async {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state -> Bool in
                    // Asked under the lock: the handler below finds the waiter, or the waiter finds the cancellation.
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
    ///   - purpose: whether the caller waits for the time, or limits something that is under way.
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

    /// Advances to the earliest moment again and again, while anybody waits for a delay.
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

    /// Returns when the effects of a limit have run.
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
