// The owner of an attempt: a request or a validation.

import FireweedTransport
import Foundation
import Synchronization

extension Attempt {
    /// The object that an attempt is made for; an attempt that has ended has no owner.
    enum Owner: Sendable {
        /// A request, which is notified of everything that happens.
        case request(Request)
        /// The validation of a stored response that is already in use.
        case validation(BackgroundValidation)

        /// The request, unless the attempt validates a stored response.
        var request: Request? {
            if case .request(let request) = self { request } else { nil }
        }

        /// The handler that decides about redirects; `nil` leaves them to the session's rules.
        var redirectHandler: (any RedirectHandler)? {
            switch self {
            case .request(let request): request.effectiveRedirectHandler
            // A redirect leads to another URL, whose response cannot validate the stored response.
            case .validation: Redirector.doNotFollow
            }
        }

        /// Whether `storingDecision(for:)` decides even about responses that the cache would not store.
        var asksAboutStoring: Bool {
            switch self {
            case .request(let request): request.asksAboutStoring
            case .validation(let validation): validation.asksAboutStoring
            }
        }

        /// Whether a monitor wants the event `willCacheResponse`; for a validation, whether the validation has a
        /// storing decision.
        var tellsOfStoring: Bool {
            switch self {
            case .request(let request): request.core.announces(.caching)
            case .validation(let validation): validation.decision != nil
            }
        }

        /// The closure that decides whether a response is stored; `nil` leaves the decision to the cache's rules.
        func storingDecision(for attempt: Attempt) -> StoringDecision? {
            switch self {
            case .request(let request): request.storingDecision(for: attempt)
            case .validation(let validation): validation.decision
            }
        }

        /// Notifies the owner of the attempt's end; `failure` is `nil` when the whole response came.
        func attemptDidComplete(_ attempt: Attempt, failure: TransferFailure?) {
            switch self {
            case .request(let request): request.attemptDidComplete(attempt, failure: failure)
            case .validation(let validation): validation.finish(attempt)
            }
        }
    }

    /// The request that the attempt is made for, until the attempt ends; `nil` for the validation of a stored response.
    var owningRequest: Request? { state.withLock { $0.owner?.request } }
}

/// The validation of a stored response that is already in use (`stale-while-revalidate`, RFC 5861 §3).
final class BackgroundValidation: Sendable {
    let asksAboutStoring: Bool
    let decision: StoringDecision?
    private let cache: ResponseCache
    private let key: CacheKey

    init(of key: CacheKey, in cache: ResponseCache, asksAboutStoring: Bool, decision: StoringDecision?) {
        self.key = key
        self.cache = cache
        self.asksAboutStoring = asksAboutStoring
        self.decision = decision
    }

    /// Ends the validation, so that the next stale response for this key can begin another validation.
    func finish(_ attempt: Attempt) {
        attempt.core.registry.remove(validation: attempt)
        attempt.beginDeferredWork()
        // This runs on the cache's queue, after the new response is stored. Before that, a look-up would find the old
        // response and begin another validation.
        cache.queue.async { [cache, key] in cache.endRefresh(of: key) }
    }
}
