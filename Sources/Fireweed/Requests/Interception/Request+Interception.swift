// Interception of one request.

import Foundation
import Synchronization

extension Request {
    /// Adapts and retries this request, after the session's interceptor; `nil` when no interceptor, adapter or retrier
    /// was set for the request.
    public var interceptor: (any RequestInterceptor)? { mutable.withLock { $0.interceptor } }

    /// Adds an interceptor after the request's existing interceptors.
    ///
    /// Call this before the request is resumed: an attempt that is being made keeps its adapters. Adapters run in this
    /// order: the session's, the adapter given when the request was made, then the added adapters in the order of the
    /// calls. Retriers are asked in the same order.
    @discardableResult
    public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        intercept(adapters: [interceptor], retriers: [interceptor])
    }

    /// Adds an adapter after the request's existing adapters; otherwise like `interceptor(_:)`.
    @discardableResult
    public func adapt(using adapter: any RequestAdapter) -> Self {
        intercept(adapters: [adapter], retriers: [])
    }

    /// Adds a retrier after the request's existing retriers; otherwise like `interceptor(_:)`.
    @discardableResult
    public func retry(using retrier: any RequestRetrier) -> Self {
        intercept(adapters: [], retriers: [retrier])
    }

    private func intercept(adapters: [any RequestAdapter], retriers: [any RequestRetrier]) -> Self {
        mutable.withLock { $0.addInterceptors(adapters, retriers) }
        return self
    }
}
