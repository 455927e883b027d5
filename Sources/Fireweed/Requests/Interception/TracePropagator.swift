// Passing the trace on.

import Foundation
public import FoundationNetworking
import Synchronization

/// Adds the fields `traceparent` and `tracestate` to each attempt of a request, so that a server's spans become part of
/// the trace.
///
/// The span of a request is a child of the parent's span. Each retry has a span of its own; the messages of one attempt
/// share one span. A request that has a `traceparent` already keeps it.
public struct TracePropagator: RequestInterceptor {
    private let parent: @Sendable () -> TraceContext?
    private let beginsTraces: Bool

    /// Makes a propagator.
    ///
    /// - Parameters:
    ///   - beginsTraces: whether a request without a parent begins a trace of its own; true by default.
    ///   - parent: gives the parent of a request, on the thread that makes it; by default the context of the task that
    ///     does so, which is the caller's as long as the session has no `requestQueue`.
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

    /// Sets the fields; a retry is in the trace of the first attempt, whatever thread it is made on.
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
    /// Gives each attempt its place in the trace of the present task, or begins one.
    public static var tracePropagator: TracePropagator { TracePropagator() }
}
