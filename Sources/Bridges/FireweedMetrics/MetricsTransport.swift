// Metrics of each message on the wire.

#if SwiftMetrics
public import FireweedTransport

/// Measures each message that another transport sends, by OpenTelemetry's conventions for metrics of HTTP clients.
///
/// Redirects, answers to challenges and retries are messages of their own. A request that is answered from a cache, or
/// by sharing the response of a request in flight, is not measured.
///
/// | metric | instrument | unit | labels |
/// |---|---|---|---|
/// | `http.client.request.duration` | timer | s | all |
/// | `http.client.request.body.size` | recorder | By | all |
/// | `http.client.response.body.size` | recorder | By | all |
/// | `http.client.active_requests` | meter | | `http.request.method`, `server.address`, `server.port`, `url.template` |
/// | `fireweed.client.connection.wait` | timer | s | `server.address`, `server.port` |
///
/// All labels are `http.request.method`, `server.address`, `server.port`, `url.template` (`Request.urlTemplate(_:)`),
/// `error.type`, `http.response.status_code`, `network.protocol.version`, and `url.scheme` if `hasScheme` is set, which
/// `http.client.active_requests` then has too.
/// `error.type` is the status from 400 on, or a word: `timeout`, `cannot_find_host`, `cannot_connect_to_host`,
/// `connection_lost`, `not_connected`, `bad_response`, `bad_content`, `bad_url`, `bad_redirect`, `limit_exceeded`,
/// `not_allowed`, `unreadable_content`, `secure_connection_failed`, `server_certificate_invalid`,
/// `client_certificate_refused`, `authentication_failed`, `overloaded`, `_OTHER`. It is empty after a success, and
/// after a cancellation by the caller. A WebSocket is measured until its handshake is over.
///
/// `SessionOptions.measured(_:)` adds this transport to a session. With a transport of your own:
///
/// ```swift
/// let session = Session(transport: MetricsTransport(EngineTransport()))
/// ```
public final class MetricsTransport: TransportDecorator, @unchecked Sendable {
    // SAFETY: the stored property is a `let` of `Sendable` type.

    private let instruments: MessageInstruments

    /// Wraps a transport, which the decorator owns from now on.
    ///
    /// - Parameters:
    ///   - base: sends the messages.
    ///   - options: the factory, and what is measured.
    public init(_ base: any Transport, options: MetricsOptions = MetricsOptions()) {
        instruments = MessageInstruments(options, clock: base.clock)
        super.init(base)
    }

    /// Makes a transfer that is measured from its start.
    public override func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        ObservedTransfer(of: message, for: consumer, on: base, observer: MessageMeasurement(instruments))
    }
}
#endif
