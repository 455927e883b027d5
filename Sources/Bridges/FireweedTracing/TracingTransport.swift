// A span for each message on the wire.

#if DistributedTracing
import Fireweed
public import FireweedTransport

/// Makes a client span for each message that another transport sends, by OpenTelemetry's stable conventions for HTTP.
///
/// A redirect, an answer to a challenge and a retry are separate messages, with `http.request.resend_count`. A request
/// that is answered from a cache, or by sharing the response of a request in flight, has no span. A span begins when
/// the message is sent, and ends with the response's content; the span of a WebSocket ends with the response's head.
///
/// The span's context is injected into the fields of the message, and replaces fields of the same names: a
/// `TracePropagator` in the same session does not change the fields that a tracer injects. The span's parent is the
/// request's value for ``RequestServiceContext``; without a value, the span begins a trace.
///
/// `SessionOptions.traced(_:)` adds this transport to a session. With a transport of your own:
///
/// ```swift
/// let transport = TracingTransport(EngineTransport())
/// let session = Session(
///     transport: transport, options: SessionOptions(valueCaptures: [RequestServiceContext.capture]))
/// ```
public final class TracingTransport: TransportDecorator, @unchecked Sendable {
    // SAFETY: the stored property is a `let` of `Sendable` type.

    private let settings: SpanSettings

    /// Wraps a transport, which the decorator owns from now on.
    ///
    /// - Parameters:
    ///   - base: sends the messages.
    ///   - options: the tracer, and the attributes of spans.
    public init(_ base: any Transport, options: TracingOptions = TracingOptions()) {
        var tracing = options
        // The values of the session's own credential fields are secrets too.
        tracing.redaction = options.redaction.hiding(
            fields: CredentialFields.ownHiddenNames(base.options.credentialFieldNames))
        settings = SpanSettings(tracing)
        super.init(base)
    }

    /// Makes a transfer whose span begins when it is started.
    public override func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        ObservedTransfer(of: message, for: consumer, on: base, observer: MessageSpan(settings))
    }
}
#endif
