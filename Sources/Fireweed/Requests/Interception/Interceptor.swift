// Interceptors made of closures and of other interceptors.

import Foundation
public import FoundationNetworking

/// An adapter made of a closure.
open class Adapter: @unchecked Sendable, RequestInterceptor {
    // SAFETY: its one stored property is a `let` of `Sendable` type.
    private let handler: AdaptHandler

    /// Makes an adapter of a closure.
    @preconcurrency
    public init(_ adaptHandler: @escaping AdaptHandler) {
        handler = adaptHandler
    }

    /// Calls the closure.
    @preconcurrency
    open func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        handler(urlRequest, session, completion)
    }

    /// Calls `adapt(_:for:completion:)` with the session of `state`.
    @preconcurrency
    open func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        adapt(urlRequest, for: state.session, completion: completion)
    }
}

/// A retrier made of a closure.
open class Retrier: @unchecked Sendable, RequestInterceptor {
    // SAFETY: its one stored property is a `let` of `Sendable` type.
    private let handler: RetryHandler

    /// Makes a retrier of a closure.
    @preconcurrency
    public init(_ retryHandler: @escaping RetryHandler) {
        handler = retryHandler
    }

    /// Calls the closure.
    @preconcurrency
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        handler(request, session, error, completion)
    }
}

/// Combines several adapters and retriers.
///
/// Adapters run in order, and each gets the result of the previous one; the first failure ends the request. Retriers
/// are asked in order until one returns something other than `.doNotRetry`.
open class Interceptor: @unchecked Sendable, RequestInterceptor {
    // SAFETY: both stored properties are `let`s of `Sendable` type.

    /// The adapters, in their order.
    public let adapters: [any RequestAdapter]
    /// The retriers, in their order.
    public let retriers: [any RequestRetrier]

    /// Makes an interceptor of two closures.
    ///
    /// - Parameters:
    ///   - adaptHandler: changes requests, as `adapt(_:for:completion:)` does.
    ///   - retryHandler: decides about retries, as `retry(_:for:dueTo:completion:)` does.
    @preconcurrency
    public init(adaptHandler: @escaping AdaptHandler, retryHandler: @escaping RetryHandler) {
        adapters = [Adapter(adaptHandler)]
        retriers = [Retrier(retryHandler)]
    }

    /// Makes an interceptor of an adapter and a retrier.
    public init(adapter: any RequestAdapter, retrier: any RequestRetrier) {
        adapters = [adapter]
        retriers = [retrier]
    }

    /// Makes an interceptor of several adapters, retriers and interceptors.
    ///
    /// - Parameters:
    ///   - adapters: the adapters, in their order.
    ///   - retriers: the retriers, in their order.
    ///   - interceptors: run as adapters after the adapters, and as retriers after the retriers.
    public init(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Runs the adapters.
    @preconcurrency
    open func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        adapt(
            urlRequest, by: adapters[...], with: { $0.adapt($1, for: session, completion: $2) }, completion: completion)
    }

    /// Runs the adapters.
    @preconcurrency
    open func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        adapt(
            urlRequest, by: adapters[...], with: { $0.adapt($1, using: state, completion: $2) }, completion: completion)
    }

    private typealias Completion = @Sendable (Result<URLRequest, any Error>) -> Void

    private func adapt(
        _ request: URLRequest, by pending: ArraySlice<any RequestAdapter>,
        with adapt: @escaping @Sendable (any RequestAdapter, URLRequest, @escaping Completion) -> Void,
        completion: @escaping Completion
    ) {
        guard let adapter = pending.first else { return completion(.success(request)) }
        let next: Completion = { result in
            switch result {
            case .success(let adapted):
                self.adapt(adapted, by: pending.dropFirst(), with: adapt, completion: completion)
            case .failure: completion(result)
            }
        }
        adapt(adapter, request, firstOnly(next))
    }

    /// Asks the retriers.
    @preconcurrency
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        ask(retriers[...], request, session, error, completion)
    }

    private func ask(
        _ pending: ArraySlice<any RequestRetrier>, _ request: Request, _ session: Session, _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard let retrier = pending.first else { return completion(.doNotRetry) }
        let next: @Sendable (RetryResult) -> Void = { result in
            if result.isUndecided {
                self.ask(pending.dropFirst(), request, session, error, completion)
            } else {
                completion(result)
            }
        }
        retrier.retry(request, for: session, dueTo: error, completion: firstOnly(next))
    }
}

extension RequestAdapter where Self == Adapter {
    /// An adapter made of a closure.
    @preconcurrency
    public static func adapter(using closure: @escaping AdaptHandler) -> Adapter { Adapter(closure) }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier made of a closure.
    @preconcurrency
    public static func retrier(using closure: @escaping RetryHandler) -> Retrier { Retrier(closure) }
}

extension RequestInterceptor where Self == Interceptor {
    /// An interceptor made of two closures.
    ///
    /// - Parameters:
    ///   - adapter: changes requests, as `adapt(_:for:completion:)` does.
    ///   - retrier: decides about retries, as `retry(_:for:dueTo:completion:)` does.
    /// - Returns: the interceptor.
    @preconcurrency
    public static func interceptor(
        adapter: @escaping AdaptHandler, retrier: @escaping RetryHandler
    ) -> Interceptor {
        Interceptor(adaptHandler: adapter, retryHandler: retrier)
    }

    /// An interceptor made of an adapter and a retrier.
    public static func interceptor(adapter: any RequestAdapter, retrier: any RequestRetrier) -> Interceptor {
        Interceptor(adapter: adapter, retrier: retrier)
    }

    /// An interceptor that combines several adapters, retriers and interceptors.
    ///
    /// - Parameters:
    ///   - adapters: the adapters, in their order.
    ///   - retriers: the retriers, in their order.
    ///   - interceptors: run as adapters after the adapters, and as retriers after the retriers.
    /// - Returns: the interceptor.
    public static func interceptor(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) -> Interceptor {
        Interceptor(adapters: adapters, retriers: retriers, interceptors: interceptors)
    }
}
