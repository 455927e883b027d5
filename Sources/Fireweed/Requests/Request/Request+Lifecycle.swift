// The life cycle of a request: performs the effects of its state machine, outside the lock.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Request {
    /// Adds a response handler, then resumes the request if `shouldAutomaticallyResume` is true.
    ///
    /// If that is `nil`, the session's `startRequestsImmediately` decides.
    func add(_ handler: any ResponseHandler) -> Self {
        handle(.handlerAdded) { $0.append(handler) }
        if shouldAutomaticallyResume ?? core.arguments.startRequestsImmediately { resume() }
        return self
    }

    /// Feeds an event to the state machine, and performs the effects.
    ///
    /// `change` runs first, under the same lock.
    func handle(_ event: RequestState.Event, change: (inout MutableState) -> Void = { _ in }) {
        let effects = mutable.withLock { state in
            change(&state)
            return state.handle(event)
        }
        perform(effects)
    }

    func perform(_ effects: RequestState.Effects) {
        guard !effects.isEmpty else { return }
        if effects.contains(.announceResume) {
            notifyMonitors(.lifecycle, posting: .didResume) { $0.requestDidResume($1) }
        }
        if effects.contains(.announceSuspend) {
            notifyMonitors(.lifecycle, posting: .didSuspend) { $0.requestDidSuspend($1) }
        }
        if effects.contains(.announceCancel) {
            notifyMonitors(.lifecycle, posting: .didCancel) { $0.requestDidCancel($1) }
        }
        if effects.contains(.make) { make() }
        if effects.contains(.resumeTask) { resumeTask() }
        if effects.contains(.suspendTask) { suspendTask() }
        if effects.contains(.cancelTask) { cancelTask() }
        if effects.contains(.validate) || effects.contains(.serialise) { startConclusion() }
        if effects.contains(.finish) {
            parts.receiver.request(self, reached: .outcome)
            notifyMonitors(.completion, posting: .didFinish) { $0.requestDidFinish($1) }
            serialise()
        }
    }

    /// Ends the request because its session was drained, invalidated or released.
    func abort(_ error: AFError) {
        var question: (@Sendable () -> Void)?
        handle(.abort) { state in
            question = state.takeRetrierQuestion()
            state.endOutcome(with: error, hadQuestion: question != nil)
        }
        question?()
    }

    // MARK: The task

    private func resumeTask() {
        guard let attempt = lastAttempt else { return }
        // Monitors are notified before the task is resumed, so that the task's events come later.
        notifyMonitors(.tasks, posting: .didResumeTask) { $0.request($1, didResumeTask: attempt.sessionTask) }
        followIntent(attempt)
    }

    private func suspendTask() {
        guard let attempt = lastAttempt else { return }
        notifyMonitors(.tasks, posting: .didSuspendTask) {
            $0.request($1, didSuspendTask: attempt.sessionTask)
        }
        followIntent(attempt)
    }

    /// Makes the task follow the request's latest `suspend()` or `resume()`.
    private func followIntent(_ attempt: Attempt) {
        let (intent, number) = mutable.withLock { ($0.lifecycle.intent, $0.intentNumber) }
        attempt.follow(isSuspended: intent == .suspended, number: number)
    }

    private func cancelTask() {
        guard let attempt = lastAttempt else { return }
        notifyMonitors(.tasks, posting: .didCancelTask) { $0.request($1, didCancelTask: attempt.sessionTask) }
        attempt.cancel(with: causeOfCancelling)
    }

    // MARK: The conclusion

    /// Runs the conclusion on the task that awaits the response, otherwise on the serialisation queue.
    ///
    /// The conclusion starts after the announcements that are in progress.
    func startConclusion() {
        let (waits, sole) = mutable.withLock { state -> (Bool, (any ResponseHandler)?) in
            guard state.announcements.allowConclusion() else { return (true, nil) }
            return (false, state.handlers.count == 1 ? state.handlers[0] : nil)
        }
        if waits { return }
        let rootQueue = core.arguments.rootQueue
        // As with Alamofire, a progress handler on the root queue is called before the response handlers, so the
        // conclusion waits for that queue.
        guard progress.hasHandler(on: rootQueue) else { return conclude(waking: sole) }
        rootQueue.async { self.conclude(waking: sole) }
    }

    private func conclude(waking sole: (any ResponseHandler)?) {
        if let sole, sole.wakeForConclusion() { return }
        serializationQueue.async { self.runConclusion() }
    }

    /// Runs the steps after the end of an attempt: validate, ask the retriers, serialise, deliver.
    ///
    /// Only one thread at a time runs a conclusion: the state machine starts a conclusion once, and a conclusion ends
    /// when it asks a retrier.
    func runConclusion() {
        if mutable.withLock({ $0.lifecycle.work }) == .validating { validateAndDecideRetry() } else { serialise() }
    }

    private func validateAndDecideRetry() {
        // `nil` when the request ended before its first attempt, or between a granted retry and its attempt: the last
        // attempt was validated already.
        let attempt = mutable.withLock { $0.attempts.last === $0.retriedAttempt ? nil : $0.attempts.last }
        parts.receiver.request(self, reached: .contentEnd(attempt))
        guard let attempt else {
            if let error { notifyObserver(.notSent(error)) }
            return decideAboutRetry()
        }
        if mutable.withLock({ $0.takeAbandonedAttempt() }) === attempt {
            notifyMonitors(.tasks, posting: .didCancelTask) { $0.request($1, didCancelTask: attempt.sessionTask) }
        }
        // The response's cookies must be in the storage before a handler runs.
        attempt.afterDeferredWork(on: serializationQueue) { [self] in
            notifyOfEnd(attempt)
            validate(attempt)
            parts.receiver.request(self, reached: .validated(attempt))
            notifyMonitorsOfCompletion(of: attempt)
            decideAboutRetry()
        }
    }

    private func decideAboutRetry() {
        let error = error
        if !isPastDeadline, !core.registry.isDraining,
            let delay = parts.receiver.reconnectionDelay(after: error, of: self)
        {
            return reconnect(after: delay)
        }
        guard let error, !parts.receiver.forbidsRetry else { return handle(.outcomeDecided) }
        askRetriers(dueTo: error) { replacement in
            self.handle(.outcomeDecided) { state in
                if let replacement, state.lifecycle.intent != .cancelled { state.setError(replacement) }
            }
        }
    }

    private func reconnect(after delay: TimeInterval) {
        mutable.withLock { state in state.withExtras { $0.reconnects = true } }
        retry(after: delay) { decideOutcome(insteadOfRetryingAfter: delay) }
        // A drain that began before the retry did not see this request as waiting, so the request is ended here.
        if core.registry.isDraining, isHeldBack { core.refuse(self) }
    }

    private func notifyMonitorsOfCompletion(of attempt: Attempt) {
        notifyObserver(.attemptEnded(AttemptSummary(of: attempt, for: self)))
        guard announces(.taskEnds) else {
            core.notifications?.post(.didCompleteTask, self)
            return
        }
        // `taskError` is the error of the task alone: a response that the validators refuse is a success of the task.
        let taskError = attempt.error.map { $0.asAFError(or: .sessionTaskFailed(error: $0)) }
        let outcome = error
        notifyMonitors(.taskEnds, posting: .didCompleteTask) { monitor, request in
            let error = monitor is any OutcomeMonitor ? outcome : taskError
            monitor.request(request, didCompleteTask: attempt.sessionTask, with: error)
        }
    }

    /// Runs the serialisers of all handlers in order, then calls the handlers.
    private func serialise() {
        while let handler = nextHandler() {
            if let error = handler.serialise(), mayRetry {
                return askRetriers(dueTo: error) { replacement in
                    if let replacement { handler.fail(with: replacement) }
                    self.mutable.withLock { $0.noteSerialised() }
                    self.serialise()
                }
            }
            mutable.withLock { $0.noteSerialised() }
        }
    }

    /// Returns the next handler to serialise.
    ///
    /// When there is no such handler, the request is done: its handlers are called, and the result is `nil`.
    private func nextHandler() -> (any ResponseHandler)? {
        switch mutable.withLock({ $0.nextConclusionAction() }) {
        case .serialise(let handler): return handler
        case .deliver(let handlers, let endings, let retryDelay):
            // The delay of a retry keeps the request in memory, so it is cancelled if the request ended before the
            // retry.
            retryDelay?.cancel()
            core.release(self) {
                parts.receiver.request(self, reached: .delivery)
                parts.content.cleanUp()
                if let handlers { deliver(handlers) }
                for ending in endings { ending() }
            }
            return nil
        }
    }

    /// Calls handlers, and then the handlers that were added during these calls.
    ///
    /// A handler that is added late has its own conclusion, perhaps on another thread. Without this order it could be
    /// called before the earlier handlers.
    private func deliver(_ handlers: TinyArray<any ResponseHandler>) {
        var handlers = handlers
        repeat {
            for handler in handlers { handler.deliver() }
            handlers = mutable.withLock { $0.takeUndelivered() }
        } while !handlers.isEmpty
    }

    // MARK: Retry

    private var mayRetry: Bool {
        interceptor != nil || core.arguments.interceptor != nil
    }

    /// Whether the request's error is final: the retriers, if there are any, decided against a retry.
    var isRetryRefused: Bool { mutable.withLock { !$0.lifecycle.isOutcomeOpen && $0.error != nil } }

    private var isPastDeadline: Bool { mutable.withLock { $0.isPastDeadline } }

    /// Asks the retriers; calls `otherwise` when there is no retry, with the error that a retrier gives instead of
    /// `error`, or with `nil`.
    private func askRetriers(dueTo error: AFError, otherwise: @escaping @Sendable (_ replacement: AFError?) -> Void) {
        guard mayRetry, !isCancelled else { return otherwise(nil) }
        let answer = firstOnly { (result: RetryResult) in
            self.serializationQueue.async { self.apply(result, dueTo: error, otherwise: otherwise) }
        }
        guard setRetrierQuestion({ answer(.doNotRetry) }) else { return otherwise(nil) }
        core.retryResult(for: self, dueTo: error, completion: answer)
    }

    private func apply(_ result: RetryResult, dueTo error: AFError, otherwise: (AFError?) -> Void) {
        mutable.withLock { state in state.withExtras { $0.retrierQuestion = nil } }
        switch result {
        case .retry: retry(after: 0) { otherwise(nil) }
        case .retryWithDelay(let delay): retry(after: delay) { otherwise(nil) }
        case .doNotRetry: otherwise(nil)
        case .doNotRetryWithError(let retryError): otherwise(error.replaced(byRetrier: retryError))
        }
    }

    /// Starts over after `interval` seconds, unless the request was cancelled before that, or its deadline comes first.
    ///
    /// Immediate retries of a request that fails before it is sent are limited, since they could continue for ever. A
    /// request whose content can be read only once, and was read, is not retried: it keeps its error, which says more.
    func retry(after interval: TimeInterval, otherwise: () -> Void) {
        // NaN counts as no delay.
        let delay = interval > 0 ? interval : 0
        let attempt = lastAttempt
        guard !parts.content.isUsedUp(after: attempt, of: self) else { return otherwise() }
        let hasSent = attempt?.hasSent == true
        let isGranted = mutable.withLock {
            $0.beginRetry(of: attempt, hasSent: hasSent, after: delay, on: core.clock)
        }
        guard isGranted else { return otherwise() }
        notifyMonitors(.lifecycle) { $0.requestIsRetrying($1) }
        notifyObserver(.retries)
        parts.receiver.request(self, reached: .retry)
        progress.reset()
        // If the request was cancelled during the announcement, its conclusion starts now.
        if mutable.withLock({ $0.announcements.end() }) { startConclusion() }
        // If the session was invalidated while the retrier decided, no attempt may follow: the request ends with the
        // session's error.
        if let invalidation = core.invalidation { return abort(invalidation) }
        if delay > 0 {
            let call = core.clock.schedule(.delay, after: .seconds(min(delay, 1e9)), on: core.arguments.rootQueue) {
                self.handle(.retryDue)
            }
            if !mutable.withLock({ $0.setRetryDelay(call) }) { call.cancel() }
        } else {
            handle(.retryDue)
        }
    }
}

// MARK: - The attempt's reports

extension Request {
    var wantsHead: Bool {
        parts.receiver.needsHead || mutable.withLock { $0.extras?.wantsHead == true }
            || core.announces(.responses) || core.arguments.delegate.isSubclass
    }

    func attempt(_ attempt: Attempt, didReceive head: ResponseHead) -> HeadDisposition {
        if let observers = mutable.withLock({ $0.extras?.headObservers }), !observers.isEmpty,
            let url = attempt.wireURL
        {
            for observe in observers.values { observe(head, url) }
        }
        notifyOfHead(attempt)
        return delegateDecision(about: head, of: attempt) ?? parts.receiver.receive(head, of: attempt, for: self)
    }

    func attempt(_ attempt: Attempt, didReceive bytes: UnsafeRawBufferPointer) -> Demand {
        let intake = parts.receiver.receive(bytes, of: attempt)
        progress.downloaded(attempt)
        notifyOfContent(bytes, attempt)
        return intake
    }

    func attempt(_ attempt: Attempt, didSend byteCount: Int, total: Int64, expected: Int64?) {
        progress.uploaded(total, of: expected)
        notifyOfSending(byteCount, total: total, expected: expected, attempt)
    }

    func attemptWaitsForConnectivity(_ attempt: Attempt) {
        notifyTaskMonitors(.waiting) { $0.urlSession($1, taskIsWaitingForConnectivity: attempt.sessionTask) }
        notifyObserver(.waitsForConnectivity)
    }

    func attemptDidComplete(_ attempt: Attempt, failure: TransferFailure?) {
        if case .untrusted(let error as AFError) = failure {
            notifyMonitors(.taskEnds) { $0.request($1, didFailTask: attempt.sessionTask, earlyWithError: error) }
        }
        if !parts.receiver.delaysEnd(of: attempt, failure: failure, for: self) {
            complete(attempt, failure: failure)
        }
    }

    func complete(_ attempt: Attempt, failure: TransferFailure?) {
        handle(.completed) { state in
            if let failure { state.fail(failure.afError(of: attempt.record.url)) }
        }
    }

    var effectiveRedirectHandler: (any RedirectHandler)? {
        let handler = chosenRedirectHandler
        return core.arguments.delegate.isSubclass ? DelegateRedirectHandler(core: core, handler: handler) : handler
    }

    /// The redirect handler of the request, otherwise the session's.
    var chosenRedirectHandler: (any RedirectHandler)? { redirectHandler ?? core.arguments.redirectHandler }
    /// The handler that decides which responses are stored: the request's, otherwise the session's.
    var chosenStoringHandler: (any CachedResponseHandler)? {
        cachedResponseHandler ?? core.arguments.cachedResponseHandler
    }

    /// Whether a handler or a delegate decides about storing, even of responses that the cache would not store.
    var asksAboutStoring: Bool { core.arguments.delegate.isSubclass || chosenStoringHandler != nil }

    func storingDecision(for attempt: Attempt) -> StoringDecision? {
        guard asksAboutStoring || core.announces(.caching), let task = attempt.storingTask else { return nil }
        let handler = core.arguments.delegate.isSubclass ? DelegateStoringHandler(core: core) : chosenStoringHandler
        return { response, completion in
            self.core.arguments.rootQueue.async {
                self.notifyTaskMonitors(.caching) { $0.urlSession($1, dataTask: task, willCacheResponse: response) }
                guard let handler else { return completion(response) }
                handler.dataTask(task, willCacheResponse: response, completion: firstOnly(completion))
            }
        }
    }
}

extension AFError {
    /// Returns the error with which a request ends when a retrier answers this error with `retryError`.
    func replaced(byRetrier retryError: any Error) -> AFError {
        if let failure = retryError as? AFError, failure.isRequestRetryError { return failure }
        // A serialiser may pass on the error that a retrier gave for the task: the original error of the task stays.
        if case .requestRetryFailed(_, let original) = self {
            return .requestRetryFailed(retryError: retryError, originalError: original)
        }
        return .requestRetryFailed(retryError: retryError, originalError: self)
    }
}

extension TransferFailure {
    /// The error that users see.
    func afError(of url: URL) -> AFError {
        switch self {
        case .cancelled: .explicitlyCancelled
        case .untrusted(let error as AFError): error
        case .reported(let error): error.asAFError(or: .sessionTaskFailed(error: error))
        case .untrusted, .exchange, .unreadableBody, .refused:
            .sessionTaskFailed(error: urlError(failingURL: url.absoluteString))
        }
    }
}
