// The services of a session that its requests use.

public import Foundation
public import FoundationNetworking

/// The services that a session offers to its requests: settings, retries and the end of the registration.
///
/// A ``Session`` is the delegate of its requests. Every method may be called from any thread.
public protocol RequestDelegate: AnyObject, Sendable {
    /// The configuration that the session was made with.
    var sessionConfiguration: URLSessionConfiguration { get }

    /// Whether the first response handler resumes a request.
    var startImmediately: Bool { get }

    /// Removes a finished request from the session's registry.
    func cleanup(after request: Request)

    /// Asks the retriers of the session and of the request whether to retry after `error`.
    ///
    /// - Parameters:
    ///   - request: the request that failed.
    ///   - error: its error.
    ///   - completion: called once with the decision. `.doNotRetryWithError` comes with an
    ///     `AFError.requestRetryFailed(retryError:originalError:)`.
    @preconcurrency
    func retryResult(
        for request: Request, dueTo error: AFError, completion: @escaping @Sendable (_ result: RetryResult) -> Void)

    /// Starts a new attempt of a request.
    ///
    /// Does nothing unless the request has failed and is not finished.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - timeDelay: the wait before the attempt, in seconds; `nil` for none.
    func retryRequest(_ request: Request, withDelay timeDelay: TimeInterval?)

    /// Makes the `URLRequest` and the task of a request that has neither.
    func readyToPerform(request: Request)
}

extension Request {
    /// The session that made the request; `nil` once the session is gone.
    public var delegate: (any RequestDelegate)? { core.session }
}
