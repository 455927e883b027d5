// Interception in `async` methods.

import Foundation
public import FoundationNetworking

/// An adapter that does its work in an `async` method.
///
/// Each call runs in its own task. Cancelling the request does not cancel the task.
public protocol AsyncRequestAdapter: RequestAdapter {
    /// Changes a `URLRequest`; called before each attempt.
    ///
    /// - Parameters:
    ///   - urlRequest: the request as the caller or the previous adapter made it.
    ///   - session: the session of the request.
    /// - Returns: the request to send.
    /// - Throws: the error that ends the request, wrapped in `AFError.requestAdaptationFailed(error:)`.
    func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest

    /// Changes a `URLRequest`, given the request's `id` and session; by default calls the method that takes a session.
    ///
    /// - Parameters:
    ///   - urlRequest: the request as the caller or the previous adapter made it.
    ///   - state: the request's `id` and session.
    /// - Returns: the request to send.
    /// - Throws: the error that ends the request, wrapped in `AFError.requestAdaptationFailed(error:)`.
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest
}

extension AsyncRequestAdapter {
    /// Calls `adapt(_:for:)` with the session of `state`.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await adapt(urlRequest, for: state.session)
    }

    /// Calls the `async` method in its own task.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        CompletionBridge.run(completion) { try await adapt(urlRequest, for: session) }
    }

    /// Calls the `async` method in its own task.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        CompletionBridge.run(completion) { try await adapt(urlRequest, using: state) }
    }
}

/// A retrier that decides in an `async` method.
///
/// Each call runs in its own task; the request waits for the decision.
public protocol AsyncRequestRetrier: RequestRetrier {
    /// Decides whether a failed request is retried.
    ///
    /// - Parameters:
    ///   - request: the request that failed; its `retryCount`, `request` and `response` describe the last attempt.
    ///   - session: the session of the request.
    ///   - error: the ``AFError`` of the attempt, of a validation or of a serialiser.
    /// - Returns: the decision.
    func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult
}

extension AsyncRequestRetrier {
    /// Calls the `async` method in its own task.
    @preconcurrency
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        CompletionBridge.run(completion) { await retry(request, for: session, dueTo: error) }
    }
}

/// An adapter and a retrier in `async` methods; the default methods change nothing and do not retry.
public protocol AsyncRequestInterceptor: RequestInterceptor, AsyncRequestAdapter, AsyncRequestRetrier {}

extension AsyncRequestInterceptor {
    /// Changes nothing.
    public func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest { urlRequest }

    /// Does not retry.
    public func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        .doNotRetry
    }

    /// Calls the `async` method in its own task.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        CompletionBridge.run(completion) { try await adapt(urlRequest, for: session) }
    }

    /// Calls the `async` method in its own task.
    @preconcurrency
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        CompletionBridge.run(completion) { await retry(request, for: session, dueTo: error) }
    }
}

extension Adapter {
    /// Makes an adapter of an `async` closure; each call runs in its own task.
    @preconcurrency
    public convenience init(
        _ adapt: @escaping @Sendable (_ request: URLRequest, _ session: Session) async throws -> URLRequest
    ) {
        self.init { request, session, completion in
            CompletionBridge.run(completion) { try await adapt(request, session) }
        }
    }
}

extension Retrier {
    /// Makes a retrier of an `async` closure; each call runs in its own task.
    @preconcurrency
    public convenience init(
        _ decide: @escaping @Sendable (_ request: Request, _ session: Session, _ error: any Error) async -> RetryResult
    ) {
        self.init { request, session, error, completion in
            CompletionBridge.run(completion) { await decide(request, session, error) }
        }
    }
}

extension RequestAdapter where Self == Adapter {
    /// An adapter made of an `async` closure.
    @preconcurrency
    public static func adapter(
        using closure: @escaping @Sendable (_ request: URLRequest, _ session: Session) async throws -> URLRequest
    ) -> Adapter {
        Adapter(closure)
    }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier made of an `async` closure.
    @preconcurrency
    public static func retrier(
        using closure:
            @escaping @Sendable (_ request: Request, _ session: Session, _ error: any Error) async ->
            RetryResult
    ) -> Retrier {
        Retrier(closure)
    }
}
