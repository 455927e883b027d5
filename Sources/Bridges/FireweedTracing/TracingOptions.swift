// Settings of a session's spans.

#if DistributedTracing
public import Fireweed
public import Tracing

/// Settings of a ``TracingTransport``.
public struct TracingOptions: Sendable {
    /// Makes the spans.
    ///
    /// `nil`, the default, asks `InstrumentationSystem` for its tracer and its instrument at each message, which is the
    /// largest cost of tracing where spans are not recorded.
    public var tracer: (any Tracer)?
    /// Removes secrets from URLs and fields; ``Redaction/standard`` by default.
    public var redaction: Redaction
    /// Fields of requests that become attributes `http.request.header.<name>`, without secrets; none by default.
    public var requestHeaders: [String]
    /// Fields of responses that become attributes `http.response.header.<name>`, without secrets; none by default.
    public var responseHeaders: [String]

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - tracer: makes the spans; `nil`, the default, takes the tracer of `InstrumentationSystem`.
    ///   - redaction: removes secrets from URLs and fields.
    ///   - requestHeaders: fields of requests that become attributes; none by default.
    ///   - responseHeaders: fields of responses that become attributes; none by default.
    public init(
        tracer: (any Tracer)? = nil, redaction: Redaction = .standard, requestHeaders: [String] = [],
        responseHeaders: [String] = []
    ) {
        self.tracer = tracer
        self.redaction = redaction
        self.requestHeaders = requestHeaders
        self.responseHeaders = responseHeaders
    }
}

extension SessionOptions {
    /// Makes a span for each message of the session, in the context of the caller.
    ///
    /// The messages go through a ``TracingTransport`` after the guards that the options already have: a message that
    /// such a guard refuses has no span. The caller's `ServiceContext` is captured when a request is made and when it
    /// is resumed (``RequestServiceContext``).
    ///
    /// ```swift
    /// let session = Session(options: SessionOptions().traced())
    /// ```
    ///
    /// - Parameter options: the tracer, and the attributes of spans.
    /// - Returns: the options with tracing.
    public func traced(_ options: TracingOptions = TracingOptions()) -> SessionOptions {
        var traced = self
        traced.guards.append(TracingGuard(options: options))
        traced.valueCaptures.append(RequestServiceContext.capture)
        return traced
    }
}

/// Wraps a session's transport in a ``TracingTransport``.
private struct TracingGuard: TransportGuard {
    let options: TracingOptions

    func guarding(_ transport: any Transport) -> any Transport { TracingTransport(transport, options: options) }
}
#endif
