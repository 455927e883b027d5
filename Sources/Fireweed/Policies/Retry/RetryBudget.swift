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
    /// What is negative or not a number counts as zero.
    public init(burst: Double = 20, perRequest: Double = 0.1, perSecond: Double = 1) {
        let now = ProcessInfo.processInfo.systemUptime
        tokens = Mutex(Tokens(burst: burst, perRequest: perRequest, perSecond: perSecond, now: now))
    }

    /// Records that a request is about to be sent.
    func noteRequest() {
        tokens.withLock { $0.noteRequest(at: ProcessInfo.processInfo.systemUptime) }
    }

    /// Takes one retry from the budget; false when there is none left.
    func takeRetry() -> Bool {
        tokens.withLock { $0.takeRetry(at: ProcessInfo.processInfo.systemUptime) }
    }

    /// Records that a request, or a retry of one, was not sent: a guard or a queue refused it.
    func noteRefusal(ofRetry isRetry: Bool) {
        tokens.withLock { $0.noteRefusal(ofRetry: isRetry) }
    }

    /// The contents of a budget.
    ///
    /// Pure: the time is an argument.
    struct Tokens: Sendable {
        private let burst: Double
        private let perRequest: Double
        private let perSecond: Double
        private var count: Double
        private var lastRefill: TimeInterval
        /// Granted retries that have not been sent yet: they add nothing to the budget when they are sent.
        private var grantedCount = 0

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
                count = min(burst, count + perRequest)
            }
        }

        mutating func takeRetry(at now: TimeInterval) -> Bool {
            refill(at: now)
            guard count >= 1 else { return false }
            count -= 1
            grantedCount += 1
            return true
        }

        /// A retry gives back what it took, and a request what it added.
        mutating func noteRefusal(ofRetry isRetry: Bool) {
            count = isRetry ? min(burst, count + 1) : max(0, count - perRequest)
        }

        private mutating func refill(at now: TimeInterval) {
            guard now > lastRefill else { return }
            count = min(burst, count + (now - lastRefill) * perSecond)
            lastRefill = now
        }
    }
}
