// A limit on the retries of many requests together.

import Foundation
import Synchronization

/// Limits the retries of all requests that share the budget, so that retries do not make an outage worse.
///
/// Over any span of time, at most `burst` retries are granted, plus `perRequest` for each request and `perSecond` for
/// each second of the span. While services work, the budget has no effect; when they fail, the load stays near what it
/// was before, instead of tripling. Give one budget to the policies of a session, or of all sessions that use one
/// service.
///
/// ```swift
/// let policy = RetryPolicy(options: RetryOptions(jitter: .full, budget: RetryBudget()))
/// let session = Session(interceptor: policy)
/// ```
public final class RetryBudget: Sendable {
    private let tokens: Mutex<Tokens>

    /// Makes a budget, which is full.
    ///
    /// - Parameters:
    ///   - burst: how many retries may come at once, and how many can be saved up; 20 by default.
    ///   - perRequest: how many retries each request adds; a tenth by default.
    ///   - perSecond: how many retries each second adds; 1 by default.
    ///
    /// A negative value or NaN counts as zero.
    public init(burst: Double = 20, perRequest: Double = 0.1, perSecond: Double = 1) {
        let now = ProcessInfo.processInfo.systemUptime
        tokens = Mutex(Tokens(burst: burst, perRequest: perRequest, perSecond: perSecond, now: now))
    }

    /// Records that a request is about to be sent.
    func noteRequest() {
        tokens.withLock { $0.noteRequest(at: ProcessInfo.processInfo.systemUptime) }
    }

    /// Takes the next retry of a request from the budget; false when there is none left.
    func takeRetry(of request: Request) -> Bool {
        guard tokens.withLock({ $0.takeRetry(at: ProcessInfo.processInfo.systemUptime) }) else { return false }
        request.noteBudgetedRetry(by: self)
        return true
    }

    /// Records that the last attempt of a request was not sent: a guard or a queue refused it.
    ///
    /// Only a retry that was taken from this budget is given back: another retrier may have caused the retry.
    func noteRefusal(of request: Request) {
        let isBudgeted = request.takeBudgetedRetry(of: self)
        tokens.withLock { $0.noteRefusal(ofRetry: isBudgeted) }
    }

    /// The state of a budget.
    ///
    /// Pure: the time is an argument.
    struct Tokens: Sendable {
        private let burst: Double
        private let perRequest: Double
        private let perSecond: Double
        /// The available retries.
        ///
        /// Until a retry is taken, requests may raise the number above `burst`, so that a refused request can take back
        /// what it added.
        private var count: Double
        private var lastRefill: TimeInterval
        /// Granted retries that have not been sent yet: they add nothing to the budget when they are sent.
        private var grantedCount = 0
        /// Requests that have added to the budget, less those that were refused.
        private var requestCount = 0

        init(burst: Double, perRequest: Double, perSecond: Double, now: TimeInterval) {
            self.burst = burst > 0 ? burst : 0
            self.perRequest = perRequest > 0 ? perRequest : 0
            self.perSecond = perSecond > 0 ? perSecond : 0
            count = self.burst
            lastRefill = now
        }

        mutating func noteRequest(at now: TimeInterval) {
            refill(at: now)
            if grantedCount > 0 {
                grantedCount -= 1
            } else {
                requestCount += 1
                count += perRequest
            }
        }

        mutating func takeRetry(at now: TimeInterval) -> Bool {
            refill(at: now)
            if count > burst { (count, requestCount) = (burst, 0) }
            guard count >= 1 else { return false }
            count -= 1
            grantedCount += 1
            return true
        }

        /// Gives back what a refused retry took, or takes back what a refused request added.
        mutating func noteRefusal(ofRetry isRetry: Bool) {
            guard !isRetry else { return add(1) }
            // Nothing to take back if `noteRequest` was not called, because the policy is only a retrier, or if
            // `takeRetry` has since cut `count` to `burst`.
            guard requestCount > 0 else { return }
            requestCount -= 1
            count = max(0, count - perRequest)
        }

        private mutating func refill(at now: TimeInterval) {
            guard now > lastRefill else { return }
            add((now - lastRefill) * perSecond)
            lastRefill = now
        }

        private mutating func add(_ tokens: Double) {
            count = max(count, min(burst, count + tokens))
        }
    }
}

extension Request {
    /// Notes that the next retry is taken from a budget.
    fileprivate func noteBudgetedRetry(by budget: RetryBudget) {
        mutable.withLock { state in
            let number = state.retryCount + 1
            state.withExtras { $0.budgetedRetry = (ObjectIdentifier(budget), number) }
        }
    }

    /// Returns whether the last attempt is a retry that was taken from this budget; true only once.
    fileprivate func takeBudgetedRetry(of budget: RetryBudget) -> Bool {
        mutable.withLock { state in
            guard let retry = state.extras?.budgetedRetry, retry == (ObjectIdentifier(budget), state.retryCount) else {
                return false
            }
            state.withExtras { $0.budgetedRetry = nil }
            return true
        }
    }
}
