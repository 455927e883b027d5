// Propagation of the trace context.

import Foundation
public import FoundationNetworking
import Synchronization

/// Adds the fields `traceparent` and `tracestate` to each attempt of a request, so that a server's spans become part of
/// the trace.
///
/// The span of a request is a child of the parent's span. Each retry has its own span; the messages of one attempt
/// share one span. A request that already has a `traceparent` keeps it.
public struct TracePropagator: RequestInterceptor {
    private let parent: @Sendable () -> TraceContext?
    private let beginsTraces: Bool

    /// Makes a propagator.
    ///
    /// - Parameters:
    ///   - beginsTraces: whether a request without a parent begins a new trace; true by default.
    ///   - parent: returns the parent of a request; called on the thread that makes the request. By default the trace
    ///     context of the current task, which is the caller's task unless the session has a `requestQueue`.
    @preconcurrency
    public init(
        beginsTraces: Bool = true, parent: @escaping @Sendable () -> TraceContext? = { TraceContext.current }
    ) {
        self.beginsTraces = beginsTraces
        self.parent = parent
    }

    /// Sets the fields.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(.success(adding(newContext(), to: urlRequest)))
    }

    /// Sets the fields; a retry belongs to the trace of the first attempt, whichever thread makes the retry.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        let known = state.request?.mutable.withLock { $0.extras?.trace }
        let context = known?.child() ?? newContext()
        if known == nil, let context {
            state.request?.mutable.withLock { state in state.withExtras { $0.trace = context } }
        }
        completion(.success(adding(context, to: urlRequest)))
    }

    private func newContext() -> TraceContext? {
        parent()?.child() ?? (beginsTraces ? TraceContext() : nil)
    }

    private func adding(_ context: TraceContext?, to urlRequest: URLRequest) -> URLRequest {
        guard let context, urlRequest.value(forHTTPHeaderField: "traceparent") == nil else { return urlRequest }
        var request = urlRequest
        request.setValue(context.traceparent, forHTTPHeaderField: "traceparent")
        if let state = context.state { request.setValue(state, forHTTPHeaderField: "tracestate") }
        return request
    }
}

extension RequestInterceptor where Self == TracePropagator {
    /// A propagator with the defaults: the parent is the current task's trace context; without a context, a new trace
    /// begins.
    public static var tracePropagator: TracePropagator { TracePropagator() }
}
