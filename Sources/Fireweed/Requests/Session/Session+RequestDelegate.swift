// The services that a session offers to its requests.

public import Foundation
import FoundationNetworking

extension Session: RequestDelegate {
    /// Whether the first response handler resumes a request; the same as `startRequestsImmediately`.
    public var startImmediately: Bool { startRequestsImmediately }

    /// Removes a request from the registry: `cancelAllRequests()` and `withAllRequests(perform:)` no longer reach it.
    public func cleanup(after request: Request) {
        core.release(request) {}
    }

    /// Asks the session's retrier, then the request's retrier.
    ///
    /// An invalidated session does not retry.
    ///
    /// - Parameters:
    ///   - request: the request that failed.
    ///   - error: its error.
    ///   - completion: called once with the decision, on the root queue. `.doNotRetryWithError` comes with an
    ///     `AFError.requestRetryFailed(retryError:originalError:)`.
    @preconcurrency
    public func retryResult(
        for request: Request, dueTo error: AFError, completion: @escaping @Sendable (_ result: RetryResult) -> Void
    ) {
        let queue = rootQueue
        core.retryResult(
            for: request, dueTo: error,
            completion: firstOnly { result in
                queue.async {
                    guard case .doNotRetryWithError(let retryError) = result else { return completion(result) }
                    completion(.doNotRetryWithError(error.replaced(byRetrier: retryError)))
                }
            })
    }

    /// Starts a new attempt of a request.
    ///
    /// Does nothing unless the request has failed and is not finished.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - timeDelay: the wait before the attempt, in seconds; `nil` for none.
    public func retryRequest(_ request: Request, withDelay timeDelay: TimeInterval?) {
        request.retry(after: timeDelay ?? 0) {}
    }

    /// Makes the `URLRequest` and the task of a request that has neither; on the request queue, if the session has one.
    public func readyToPerform(request: Request) {
        request.handle(.makeEagerly)
    }
}
