// The context of a request's caller.

#if DistributedTracing
public import FireweedTransport
public import Tracing

/// The key of the `ServiceContext` that is the parent of a request's spans.
///
/// A session with ``capture`` captures the context of the caller. `Request.value(_:for:)` sets another context:
///
/// ```swift
/// session.request(url).value(context, for: RequestServiceContext.self)
/// ```
public enum RequestServiceContext: RequestValueKey {
    /// The type of the value.
    public typealias Value = ServiceContext

    /// Captures `ServiceContext.current`, for `SessionOptions.valueCaptures`.
    ///
    /// The context at the first resume is used if there is one, else the context at the creation of the request.
    public static let capture: RequestValues.Capture = { values in
        if let context = ServiceContext.current { values[RequestServiceContext.self] = context }
    }
}
#endif
