// A span for each message of the wire.

#if DistributedTracing
import Fireweed
public import FireweedTransport

/// Has a client span for each message that another transport sends, by OpenTelemetry's stable conventions for HTTP.
///
/// Redirects, answers to challenges and retries are messages of their own, with `http.request.resend_count`; what a
/// cache answers, or another request that is under way, has no span. A span begins when the message is sent, and ends
/// with the response's content, that of a WebSocket with the response's head.
///
/// The span's context is injected into the fields of the message, and replaces fields of the same names: a
/// `TracePropagator` beside it has no effect on what a tracer injects. The parent is the value of
/// ``RequestServiceContext`` that the message's request has; without one, a span begins a trace.
///
/// `SessionOptions.traced(_:)` puts it into a session. On a transport of your own:
///
/// ```swift
/// let transport = TracingTransport(EngineTransport())
/// let session = Session(
///     transport: transport, options: SessionOptions(valueCaptures: [RequestServiceContext.capture]))
/// ```
public final class TracingTransport: TransportDecorator, @unchecked Sendable {
    // SAFETY: the stored property is a `let` of `Sendable` type.

    private let tracing: TracingOptions

    /// Wraps a transport, which the decorator owns from now on.
    ///
    /// - Parameters:
    ///   - base: sends the messages.
    ///   - options: the tracer, and what spans have.
    public init(_ base: any Transport, options: TracingOptions = TracingOptions()) {
        var tracing = options
        // The session's own fields of credentials are among the secrets.
        tracing.redaction = options.redaction.hiding(
            fields: CredentialFields.ownHiddenNames(base.options.credentialFieldNames))
        self.tracing = tracing
        super.init(base)
    }

    /// Makes a transfer whose span begins when it is started.
    public override func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        ObservedTransfer(of: message, for: consumer, on: base, observer: MessageSpan(tracing))
    }
}
#endif
