// The changing state of a request.

import FireweedTransport
import Foundation

/// The mutable state of a request; used only under the request's lock.
///
/// Other files read the state, and change it only by the methods below and in `announcements`. `RequestState` is the
/// table of events and states.
struct MutableState: Sendable {
    private(set) var lifecycle = RequestState()
    /// The number of times that `lifecycle.intent` has changed.
    private(set) var intentNumber: UInt64 = 0
    /// Counts the threads that are notifying monitors.
    var announcements = Announcements()
    private(set) var error: AFError?
    private(set) var records = TinyArray<RequestRecord>()
    private(set) var attempts = TinyArray<Attempt>()
    /// The last attempt before the latest granted retry.
    private(set) var retriedAttempt: Attempt?
    private(set) var retryCount = 0
    private(set) var validators: [RequestValidator] = []
    /// The handlers in the order in which they were added.
    private(set) var handlers = TinyArray<any ResponseHandler>()
    private(set) var interceptor: (any RequestInterceptor)?
    /// Settings that few requests have; `nil` takes no memory.
    private(set) var extras: RequestExtras?

    /// The attempt that was cancelled before it could start; its cancel is announced before its end.
    private var abandonedAttempt: Attempt?
    /// The number of retries with a delay below `shortestDelay` since the last attempt that sent a message.
    private var idleRetryCount = 0
    /// The number of handlers whose serialisers have run.
    private var serialisedCount = 0
    /// Late handlers, which the thread that is calling handlers calls next; `isDelivering` is true while there is such
    /// a thread.
    private var undelivered = TinyArray<any ResponseHandler>()
    private var isDelivering = false
    private var id: UUID?

    init(interceptor: (any RequestInterceptor)?) { self.interceptor = interceptor }
}

// MARK: - Life

extension MutableState {
    /// Feeds an event to the table.
    mutating func handle(_ event: RequestState.Event) -> RequestState.Effects {
        let before = lifecycle.intent
        defer { if lifecycle.intent != before { intentNumber += 1 } }
        return lifecycle.handle(event)
    }

    /// Notes why the request fails; the first error stays.
    mutating func fail(_ error: AFError) { self.error = self.error ?? error }

    mutating func setError(_ error: AFError?) { self.error = error }

    /// Takes the closure that ends a question to a retrier; `nil` while no retrier is being asked.
    mutating func takeRetrierQuestion() -> (@Sendable () -> Void)? { extras?.retrierQuestion.take() }

    /// Sets an error from outside, such as a cancel, as the outcome; returns false when the outcome is already decided.
    ///
    /// An earlier error stays, unless a retrier was being asked about it: the retrier might still have changed it.
    @discardableResult
    mutating func endOutcome(with error: AFError, hadQuestion: Bool) -> Bool {
        guard lifecycle.isOutcomeOpen else { return false }
        self.error = hadQuestion ? error : self.error ?? error
        return true
    }

    mutating func identifier() -> UUID {
        let id = id ?? UUID.random()
        self.id = id
        return id
    }

    mutating func append(_ validator: RequestValidator) { validators.append(validator) }

    /// Adds interceptors after the request's existing interceptors.
    mutating func addInterceptors(_ adapters: [any RequestAdapter], _ retriers: [any RequestRetrier]) {
        let present = interceptor
        interceptor = Interceptor(
            adapters: (present.map { [$0] } ?? []) + adapters, retriers: (present.map { [$0] } ?? []) + retriers)
    }

    /// Changes the extras, which are made at the first change.
    mutating func withExtras<Result>(_ change: (RequestExtras) -> Result) -> Result {
        let extras = extras ?? RequestExtras()
        self.extras = extras
        return change(extras)
    }
}

// MARK: - Attempts

extension MutableState {
    mutating func append(_ record: RequestRecord) { records.append(record) }

    /// Adds an attempt; returns false when the request was cancelled or ended while the attempt was being made.
    mutating func append(_ attempt: Attempt) -> Bool {
        guard lifecycle.isMaking else { return false }
        attempts.append(attempt)
        return true
    }

    mutating func abandon(_ attempt: Attempt) { abandonedAttempt = attempt }

    mutating func takeAbandonedAttempt() -> Attempt? { abandonedAttempt.take() }

    /// Removes records and attempts between the first and the latest ones, for a request that never ends.
    mutating func shortenHistory() {
        if attempts.count > 32 { attempts.removeSubrange(1..<attempts.count - 15) }
        if records.count > 64 { records.removeSubrange(1..<records.count - 31) }
    }

    /// The maximum number of retries with a delay below `shortestDelay` since a message was last sent.
    private static let maximumIdleRetryCount = 100
    /// Retries with this delay, in seconds, or a longer delay are not limited: ten retries a second do no harm.
    private static let shortestDelay = 0.1

    /// Begins a retry after `delay` seconds, and the announcement of the retry; returns false when no retry is allowed.
    mutating func beginRetry(of attempt: Attempt?, hasSent: Bool, after delay: TimeInterval, on clock: any SessionClock)
        -> Bool
    {
        if hasSent, attempt !== retriedAttempt { idleRetryCount = 0 }
        // Only retries with a short delay are counted: longer delays cannot cause a busy loop.
        if delay < Self.shortestDelay, !hasSent || attempt === retriedAttempt { idleRetryCount += 1 }
        guard idleRetryCount <= Self.maximumIdleRetryCount, mayBegin(after: delay, on: clock),
            lifecycle.handle(.retryGranted) == .delayRetry
        else { return false }
        retryCount += 1
        retriedAttempt = attempts.last
        error = nil
        serialisedCount = 0
        announcements.begin()
        return true
    }

    /// Stores the delay before a retry; returns false when the request has ended by now.
    mutating func setRetryDelay(_ call: any ScheduledCall) -> Bool {
        guard lifecycle.isOutcomeOpen else { return false }
        withExtras { $0.retryDelay = call }
        return true
    }
}

// MARK: - Handlers

extension MutableState {
    /// The next part of the conclusion.
    enum ConclusionAction {
        case serialise(any ResponseHandler)
        /// The handlers to call (`nil` when another thread calls handlers), the endings to call, and the delay to
        /// cancel.
        case deliver(
            TinyArray<any ResponseHandler>?, endings: [@Sendable () -> Void], retryDelay: (any ScheduledCall)?)
    }

    mutating func append(_ handler: any ResponseHandler) { handlers.append(handler) }

    mutating func noteSerialised() { serialisedCount += 1 }

    /// Returns the next handler to serialise, or the end of the request.
    ///
    /// Decided under one lock: a handler that is added later finds the request done.
    mutating func nextConclusionAction() -> ConclusionAction {
        if serialisedCount < handlers.count { return .serialise(handlers[serialisedCount]) }
        _ = lifecycle.handle(.serialised)
        defer {
            handlers = TinyArray()
            serialisedCount = 0
            extras?.endings = []
            extras?.deadline?.timer = nil
        }
        let (endings, retryDelay) = (extras?.endings ?? [], extras?.retryDelay)
        extras?.retryDelay = nil
        if isDelivering {
            undelivered.append(contentsOf: handlers)
            return .deliver(nil, endings: endings, retryDelay: retryDelay)
        }
        isDelivering = true
        return .deliver(handlers, endings: endings, retryDelay: retryDelay)
    }

    /// Takes the handlers that were added while others were called; empty when this thread has no more to call.
    mutating func takeUndelivered() -> TinyArray<any ResponseHandler> {
        defer { undelivered = TinyArray() }
        isDelivering = !undelivered.isEmpty
        return undelivered
    }
}

/// Checks a response.
struct RequestValidator: Sendable {
    /// A closure that checks a response; returns `nil` when there is nothing to check.
    typealias Check =
        @Sendable (_ request: Request, _ attempt: Attempt, _ hasContent: Bool) -> Request.ValidationResult?

    let check: Check
    /// Whether `check` accepts every response without content.
    var acceptsEmpty = false
}
