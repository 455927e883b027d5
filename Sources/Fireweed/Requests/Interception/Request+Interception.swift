// Interception of one request.

import Foundation
import Synchronization

extension Request {
    /// Adapts and retries this request, after the session's interceptor; `nil` when the request has no interceptor,
    /// adapter or retrier of its own.
    public var interceptor: (any RequestInterceptor)? { mutable.withLock { $0.interceptor } }

    /// Adds an interceptor, after those that the request has.
    ///
    /// Call this before the request is resumed: an attempt that is being made keeps its adapters. Adapters run in this
    /// order: the session's, the one given when the request was made, then the added ones in the order of the calls.
    /// Retriers are asked in the same order.
    @discardableResult
    public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        intercept(adapters: [interceptor], retriers: [interceptor])
    }

    /// Adds an adapter, after those that the request has; otherwise like `interceptor(_:)`.
    @discardableResult
    public func adapt(using adapter: any RequestAdapter) -> Self {
        intercept(adapters: [adapter], retriers: [])
    }

    /// Adds a retrier, after those that the request has; otherwise like `interceptor(_:)`.
    @discardableResult
    public func retry(using retrier: any RequestRetrier) -> Self {
        intercept(adapters: [], retriers: [retrier])
    }

    private func intercept(adapters: [any RequestAdapter], retriers: [any RequestRetrier]) -> Self {
        mutable.withLock { $0.addInterceptors(adapters, retriers) }
        return self
    }
}
