// Interception in `async` methods.

import Foundation
public import FoundationNetworking

/// An adapter that does its work in an `async` method.
///
/// The method runs in a task of its own, which ends with it; cancelling the request does not end it early.
public protocol AsyncRequestAdapter: RequestAdapter {
    /// Changes a `URLRequest`; called before each attempt.
    ///
    /// - Parameters:
    ///   - urlRequest: the request as the caller, or the adapter before, made it.
    ///   - session: the session of the request.
    /// - Returns: the request to send.
    /// - Throws: the error that ends the request, in `AFError.requestAdaptationFailed(error:)`.
    func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest

    /// Changes a `URLRequest`, with the identity of the request; by default it calls the form with a session.
    ///
    /// - Parameters:
    ///   - urlRequest: the request as the caller, or the adapter before, made it.
    ///   - state: the request's `id` and session.
    /// - Returns: the request to send.
    /// - Throws: the error that ends the request, in `AFError.requestAdaptationFailed(error:)`.
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest
}

extension AsyncRequestAdapter {
    /// Calls `adapt(_:for:)` with the session of `state`.
    public func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await adapt(urlRequest, for: state.session)
    }

    /// Calls the `async` form in a task of its own.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        CompletionBridge.run(completion) { try await adapt(urlRequest, for: session) }
    }

    /// Calls the `async` form in a task of its own.
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
/// The method runs in a task of its own, which ends with it; the request waits for the decision.
public protocol AsyncRequestRetrier: RequestRetrier {
    /// Decides whether a failed request is retried.
    ///
    /// - Parameters:
    ///   - request: the request that failed; its `retryCount`, `request` and `response` tell about the last attempt.
    ///   - session: the session of the request.
    ///   - error: the ``AFError`` of the attempt, of a validation or of a serialiser.
    /// - Returns: the decision.
    func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult
}

extension AsyncRequestRetrier {
    /// Calls the `async` form in a task of its own.
    @preconcurrency
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        CompletionBridge.run(completion) { await retry(request, for: session, dueTo: error) }
    }
}

/// An adapter and a retrier in `async` methods; by default it changes nothing, and does not retry.
public protocol AsyncRequestInterceptor: RequestInterceptor, AsyncRequestAdapter, AsyncRequestRetrier {}

extension AsyncRequestInterceptor {
    /// Changes nothing.
    public func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest { urlRequest }

    /// Does not retry.
    public func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        .doNotRetry
    }

    /// Calls the `async` form in a task of its own.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        CompletionBridge.run(completion) { try await adapt(urlRequest, for: session) }
    }

    /// Calls the `async` form in a task of its own.
    @preconcurrency
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        CompletionBridge.run(completion) { await retry(request, for: session, dueTo: error) }
    }
}

extension Adapter {
    /// Makes an adapter of an `async` closure, which runs in a task of its own.
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
    /// Makes a retrier of an `async` closure, which runs in a task of its own.
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
