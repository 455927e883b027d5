// Decisions about the head of a response, in an async closure.
//
// The form with a decision is disfavoured: else both forms would fit a closure of several statements without a value.

public import FoundationNetworking

extension DataRequest {
    /// Calls `handler` on a task of its own with the head of the response, before its content; content waits for the
    /// decision.
    ///
    /// Called once for each attempt that gets a response. A second call of this method replaces the handler.
    @_disfavoredOverload
    @discardableResult
    @preconcurrency
    public func onHTTPResponse(
        perform handler: @escaping @Sendable (_ response: HTTPURLResponse) async -> ResponseDisposition
    ) -> Self {
        setAsyncResponseHandler(handler)
        return self
    }

    /// Calls `handler` on a task of its own with the head of the response; content waits until the handler returns.
    ///
    /// Called once for each attempt that gets a response. A second call of this method replaces the handler.
    @discardableResult
    @preconcurrency
    public func onHTTPResponse(
        perform handler: @escaping @Sendable (_ response: HTTPURLResponse) async -> Void
    ) -> Self {
        setAsyncResponseHandler { response in
            await handler(response)
            return .allow
        }
        return self
    }
}

extension DataStreamRequest {
    /// Calls `handler` on a task of its own with the head of the response, before its content; content waits for the
    /// decision.
    ///
    /// Called once for each attempt that gets a response. A second call of this method replaces the handler.
    @_disfavoredOverload
    @discardableResult
    @preconcurrency
    public func onHTTPResponse(
        perform handler: @escaping @Sendable (_ response: HTTPURLResponse) async -> ResponseDisposition
    ) -> Self {
        setAsyncResponseHandler(handler)
        return self
    }

    /// Calls `handler` on a task of its own with the head of the response; content waits until the handler returns.
    ///
    /// Called once for each attempt that gets a response. A second call of this method replaces the handler.
    @discardableResult
    @preconcurrency
    public func onHTTPResponse(
        perform handler: @escaping @Sendable (_ response: HTTPURLResponse) async -> Void
    ) -> Self {
        setAsyncResponseHandler { response in
            await handler(response)
            return .allow
        }
        return self
    }
}

extension Request {
    /// The bridge from the handler's queue to an async closure, which only a task can call.
    fileprivate func setAsyncResponseHandler(
        _ handler: @escaping @Sendable (HTTPURLResponse) async -> ResponseDisposition
    ) {
        setResponseHandler(on: core.arguments.rootQueue) { response, decide in
            Task { decide(await handler(response)) }
        }
    }
}
