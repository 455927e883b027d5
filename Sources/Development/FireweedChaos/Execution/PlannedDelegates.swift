// Delegates that answer as planned.

import Fireweed
import Foundation
import FoundationNetworking

/// The errors of planned interceptors and authenticators.
enum PlannedFailure: Error {
    case adaptation, retry, refresh
}

/// Adapts and retries requests as planned.
struct PlannedInterceptor: RequestInterceptor {
    let plan: Interception

    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        plan.adapting.answer {
            completion(plan.refusesToAdapt ? .failure(PlannedFailure.adaptation) : .success(urlRequest))
        }
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        let result: RetryResult =
            if request.retryCount < plan.retryLimit {
                plan.retryDelay == 0 ? .retry : .retryWithDelay(Double(plan.retryDelay) / 1_000_000)
            } else {
                plan.failsInRetry ? .doNotRetryWithError(PlannedFailure.retry) : .doNotRetry
            }
        plan.retrying.answer { completion(result) }
    }
}

/// Follows or refuses redirects as planned.
struct PlannedRedirectHandler: RedirectHandler {
    let plan: SessionPlan.Redirecting

    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        plan.answering.answer { completion(plan.follows ? request : nil) }
    }
}

/// Allows the cache to store every response, by a planned way of answering.
struct PlannedCacher: CachedResponseHandler {
    let answering: Answering

    func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        answering.answer { completion(response) }
    }
}
