// Changing requests before they go out, and trying them again.

public import Foundation
public import FoundationNetworking

/// What an adapter may know of the request it adapts.
public struct RequestAdapterState: Sendable {
    /// The `id` of the request.
    public let requestID: UUID
    /// The session that makes the request.
    public let session: Session
    /// The request itself, for what keeps something with it.
    let request: Request?
}

/// Changes a `URLRequest` before it is sent.
public protocol RequestAdapter: Sendable {
    /// Gives the changed request, or the error that ends it, to `completion`: once, on any thread.
    ///
    /// Every later call of `completion` is ignored.
    @preconcurrency
    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void)

    /// The same, with the request's identity.
    @preconcurrency
    func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void)
}

extension RequestAdapter {
    /// Leaves the identity out.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        adapt(urlRequest, for: state.session, completion: completion)
    }
}

/// What a retrier says of a failed request.
public enum RetryResult: Sendable {
    /// Try again at once.
    case retry
    /// Try again after so many seconds.
    case retryWithDelay(TimeInterval)
    /// Do not try again; the next retrier is asked.
    case doNotRetry
    /// Do not try again, and end with this error.
    case doNotRetryWithError(any Error)

    /// True when the next retrier is to be asked.
    var isUndecided: Bool { if case .doNotRetry = self { true } else { false } }
}

/// Decides whether a failed request is tried again.
public protocol RequestRetrier: Sendable {
    /// Gives its decision to `completion`: once, on any thread.
    ///
    /// Every later call of `completion` is ignored.
    @preconcurrency
    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void)
}

/// Adapts and retries; does neither unless a method is written.
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

/// The body of an adapter made of a closure.
public typealias AdaptHandler =
    @Sendable (
        _ request: URLRequest, _ session: Session,
        _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) -> Void

/// The body of a retrier made of a closure.
public typealias RetryHandler =
    @Sendable (
        _ request: Request, _ session: Session, _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> Void
