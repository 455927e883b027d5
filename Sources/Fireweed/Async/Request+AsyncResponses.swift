// Decisions about the head of a response, in an async closure.
//
// The method whose handler returns a `ResponseDisposition` is disfavoured: otherwise a closure of several statements
// that returns no value would be ambiguous.

public import FoundationNetworking

extension DataRequest {
    /// Calls `handler` in a new task with the head of the response; the content waits for the handler's decision.
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

    /// Calls `handler` in a new task with the head of the response; the content waits until the handler returns.
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
    /// Calls `handler` in a new task with the head of the response; the content waits for the handler's decision.
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

    /// Calls `handler` in a new task with the head of the response; the content waits until the handler returns.
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
    /// Calls an async closure from the handler's queue: only a task can call such a closure.
    fileprivate func setAsyncResponseHandler(
        _ handler: @escaping @Sendable (HTTPURLResponse) async -> ResponseDisposition
    ) {
        setResponseHandler(on: core.arguments.rootQueue) { response, decide in
            Task { decide(await handler(response)) }
        }
    }
}
