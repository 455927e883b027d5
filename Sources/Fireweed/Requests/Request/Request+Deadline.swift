// A limit on the time of a request as a whole.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

extension Request {
    /// Limits the time of the whole request, over all of its attempts.
    ///
    /// The time runs from the first `resume()`, or from this call when the request has begun before. It includes
    /// adapters, waiting for connectivity, redirects, every attempt, the retriers, the delays between attempts, and the
    /// time in which the request is suspended. `timeoutIntervalForRequest` and `timeoutIntervalForResource` still limit
    /// each attempt.
    ///
    /// At the deadline:
    /// - a running attempt ends, and the request fails with `AFError.sessionTaskFailed(error:)` around a
    ///   `URLError.timedOut` whose description names the deadline; retriers are not asked;
    /// - a request whose retrier is being asked fails with the error of its last attempt;
    /// - a request whose outcome is already final is not affected.
    ///
    /// A retry that would begin after the deadline does not take place: the request fails immediately, with the error
    /// of its last attempt.
    ///
    /// A second call before the deadline replaces the first. Zero or less ends the request as soon as it begins. Call
    /// this method before an awaited form:
    ///
    /// ```swift
    /// let user = try await session.request(url, interceptor: .retryPolicy)
    ///     .deadline(.seconds(10))
    ///     .serializingDecodable(User.self).value
    /// ```
    ///
    /// - Parameter duration: the time from the request's beginning; requests have no deadline by default.
    /// - Returns: the request.
    @discardableResult
    public func deadline(_ duration: Duration) -> Self {
        let hasBegun = mutable.withLock { state -> Bool in
            guard state.lifecycle.isOutcomeOpen, !state.isPastDeadline else { return false }
            state.withExtras { $0.deadline = RequestDeadline(duration: duration) }
            return state.lifecycle.work != .idle
        }
        if hasBegun { startDeadline() }
        return self
    }

    /// Starts the timer of the deadline, if there is a deadline and its timer is not running yet.
    func startDeadline() {
        let timer = mutable.withLock { state -> DeadlineTimer? in
            guard let deadline = state.extras?.deadline, deadline.timer == nil, !deadline.isOver else { return nil }
            let timer = DeadlineTimer(
                due: deadline.due
                    ?? core.clock.monotonicNanoseconds.addingSaturating(deadline.duration.seconds.nanoseconds),
                clock: core.clock)
            state.extras?.deadline?.timer = timer
            state.extras?.deadline?.due = timer.due
            return timer
        }
        timer?.start(on: core.arguments.rootQueue) { [weak self] timer in self?.expire(timer) }
    }

    private func expire(_ timer: DeadlineTimer) {
        let (effects, question) = mutable.withLock { state -> (RequestState.Effects, (@Sendable () -> Void)?) in
            guard var deadline = state.extras?.deadline, deadline.timer === timer, state.lifecycle.isOutcomeOpen else {
                return ([], nil)
            }
            deadline.isOver = true
            let question = state.takeRetrierQuestion()
            let url = state.records.last?.url.absoluteString ?? ""
            state.fail(.sessionTaskFailed(error: deadline.failure.urlError(failingURL: url)))
            state.extras?.deadline = deadline
            return (state.handle(.abort), question)
        }
        perform(effects)
        question?()
    }

    /// Ends a request that reconnects, such as a source of events, instead of connecting again.
    ///
    /// When the deadline is the reason, the request fails: its content is incomplete.
    func decideOutcome(insteadOfRetryingAfter delay: TimeInterval) {
        handle(.outcomeDecided) { state in
            guard state.error == nil, !state.mayBegin(after: delay, on: core.clock),
                let deadline = state.extras?.deadline
            else {
                return
            }
            let url = state.records.last?.url.absoluteString ?? ""
            state.setError(.sessionTaskFailed(error: deadline.failure.urlError(failingURL: url)))
        }
    }

    /// The error with which an attempt is cancelled: the deadline's error if the deadline has passed, else
    /// `.cancelled`.
    var causeOfCancelling: TransferFailure {
        mutable.withLock { state in
            guard let deadline = state.extras?.deadline, deadline.isOver else { return .cancelled }
            return deadline.failure
        }
    }

    /// Stores the closure that ends a question to the retriers; returns false when the deadline has passed or the
    /// request was cancelled.
    func setRetrierQuestion(_ giveUp: @escaping @Sendable () -> Void) -> Bool {
        mutable.withLock { state in
            guard !state.isPastDeadline, state.lifecycle.visible != .cancelled else { return false }
            state.withExtras { $0.retrierQuestion = giveUp }
            return true
        }
    }
}

extension MutableState {
    var isPastDeadline: Bool { extras?.deadline?.isOver == true }

    /// Whether work that begins after `delay` seconds begins before the deadline.
    func mayBegin(after delay: TimeInterval, on clock: any SessionClock) -> Bool {
        guard !isPastDeadline, let due = extras?.deadline?.due else { return !isPastDeadline }
        return clock.monotonicNanoseconds.addingSaturating(max(0, delay).nanoseconds) < due
    }
}

/// The deadline of a request.
struct RequestDeadline: Sendable {
    let duration: Duration
    /// The deadline in nanoseconds of the session's clock; `nil` before the request begins.
    ///
    /// Kept after the request has ended: a handler that is added later may cause a retry.
    var due: UInt64?
    /// The timer, which runs from the request's beginning to its end.
    var timer: DeadlineTimer?
    var isOver = false

    init(duration: Duration) {
        self.duration = duration
    }

    var failure: TransferFailure {
        .exchange(.timedOut, detail: "The request did not end within its deadline of \(duration).", engineCode: 0)
    }
}

/// Calls back once at the deadline, unless the timer is released before.
final class DeadlineTimer: Sendable {
    let due: UInt64
    private let clock: any SessionClock
    private let call = Mutex<(any ScheduledCall)?>(nil)

    init(due: UInt64, clock: any SessionClock) {
        self.due = due
        self.clock = clock
    }

    deinit { call.withLock { $0 }?.cancel() }

    func start(on queue: DispatchQueue, _ action: @escaping @Sendable (DeadlineTimer) -> Void) {
        let now = clock.monotonicNanoseconds
        let rest = Duration.nanoseconds(due > now ? Int64(clamping: due - now) : 0)
        let made = clock.schedule(.limit, after: rest, on: queue) { [weak self] in
            if let self { action(self) }
        }
        call.withLock { $0 = made }
    }
}
