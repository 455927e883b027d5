// Protocols for changing requests before they are sent, and for retrying them.

public import Foundation
public import FoundationNetworking

/// The identity of a request, for its adapters.
public struct RequestAdapterState: Sendable {
    /// The `id` of the request.
    public let requestID: UUID
    /// The session that makes the request.
    public let session: Session
    /// The request itself, for adapters of the library that store a value in the request.
    let request: Request?
}

/// Changes a `URLRequest` before it is sent.
public protocol RequestAdapter: Sendable {
    /// Changes a `URLRequest`, or ends the request; called before each attempt.
    ///
    /// - Parameters:
    ///   - urlRequest: the request as the caller or the previous adapter made it.
    ///   - session: the session of the request.
    ///   - completion: takes the request to send, or the error that ends the request, wrapped in
    ///     `AFError.requestAdaptationFailed(error:)`. Call it once, on any thread; later calls are ignored. The request
    ///     waits until then.
    @preconcurrency
    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void)

    /// Changes a `URLRequest`, or ends the request, given the request's `id` and session; sessions call this method.
    ///
    /// By default calls `adapt(_:for:completion:)`.
    ///
    /// - Parameters:
    ///   - urlRequest: the request as the caller or the previous adapter made it.
    ///   - state: the request's `id` and session.
    ///   - completion: takes the request to send, or the error that ends the request, wrapped in
    ///     `AFError.requestAdaptationFailed(error:)`. Call it once, on any thread; later calls are ignored. The request
    ///     waits until then.
    @preconcurrency
    func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void)
}

extension RequestAdapter {
    /// Calls `adapt(_:for:completion:)` with the session of `state`.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        adapt(urlRequest, for: state.session, completion: completion)
    }
}

/// A retrier's decision about a failed request.
public enum RetryResult: Sendable {
    /// Try again immediately.
    case retry
    /// Try again after this many seconds; zero, a negative number and NaN are `retry`.
    case retryWithDelay(TimeInterval)
    /// Do not try again; the next retrier is asked.
    case doNotRetry
    /// Do not try again, and end with this error.
    case doNotRetryWithError(any Error)

    /// Whether the next retrier is asked.
    var isUndecided: Bool { if case .doNotRetry = self { true } else { false } }
}

/// Decides whether a failed request is tried again.
public protocol RequestRetrier: Sendable {
    /// Decides whether a failed request is retried.
    ///
    /// Called after an attempt or a validation failed, and after a serialiser failed; not after a cancellation. The
    /// interceptor of the session is asked first, then the interceptor of the request; the first decision other than
    /// `.doNotRetry` is final. After 100 retries in a row without a message to a server, because adapters failed or the
    /// cache answered, the next retry is refused, and the request ends with its error. Retries after a delay of 0.1 s
    /// or more are not counted.
    ///
    /// - Parameters:
    ///   - request: the request that failed; its `retryCount`, `request` and `response` describe the last attempt.
    ///   - session: the session of the request.
    ///   - error: the ``AFError`` of the attempt, of a validation or of a serialiser.
    ///   - completion: takes the decision. Call it once, on any thread; later calls are ignored. The request waits
    ///     until then.
    @preconcurrency
    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void)
}

/// An adapter and a retrier in one; the default methods change nothing and do not retry.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    /// Changes nothing.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        completion(.success(urlRequest))
    }

    /// Does not retry.
    @preconcurrency
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        completion(.doNotRetry)
    }
}

/// The closure that an ``Adapter`` calls.
public typealias AdaptHandler =
    @Sendable (
        _ request: URLRequest, _ session: Session,
        _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) -> Void

/// The closure that a ``Retrier`` calls.
public typealias RetryHandler =
    @Sendable (
        _ request: Request, _ session: Session, _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> Void
