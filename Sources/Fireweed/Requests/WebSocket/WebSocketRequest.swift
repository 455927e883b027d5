// A request for a WebSocket.

import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A WebSocket (RFC 6455): messages in both directions after a handshake that is a request like any other.
///
/// Interceptors, header fields, cookies, proxies, trust and redirects apply to the handshake as to every request, and
/// so do credentials for Basic, Digest and NTLM; Negotiate is not supported. A status other than 101 ends the request
/// with `URLError.badServerResponse`, and `response` has the status. Events come in this order: connected, any number
/// of messages, disconnected when the server's close frame comes, then completed.
///
/// <!-- sample: no-run: nothing waits for the handlers -->
/// ```swift
/// let socket = session.webSocketRequest(to: "wss://example.com/chat").streamMessages { message in
///     print(message)
/// }
/// socket.send(.string("hello")) { result in print(result) }
/// ```
public final class WebSocketRequest: Request, @unchecked Sendable {
    // SAFETY: as for every request: the added stored property is a `let` of `Sendable` type.

    let receiver: WebSocketReceiver

    init(
        convertible: any URLRequestConvertible, configuration: Configuration, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        receiver = WebSocketReceiver(configuration)
        super.init(
            RequestParts(origin: convertible, receiver: receiver, taskKind: .webSocket), core: core,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The value that the request was made from.
    public var convertible: any URLRequestConvertible { parts.origin }
    /// The settings of the WebSocket.
    public var configuration: Configuration { receiver.configuration }

    var completion: Completion {
        let context = responseContext
        return Completion(
            request: context.request, response: context.response, metrics: context.metrics, error: error)
    }

    func add(_ sink: any WebSocketSink) -> Self {
        receiver.add(sink, of: self)
        return add(sink as any ResponseHandler)
    }

    // MARK: Control

    /// Sends a close frame with a code and a reason, after all earlier messages.
    ///
    /// The server answers with its own close frame, which is the `disconnected` event; `completed` follows. Before the
    /// WebSocket is open, this method cancels the request; after the server's close frame it has no effect.
    ///
    /// - Parameters:
    ///   - closeCode: the code. Codes that may not be sent (1005, 1006, 1015, and numbers outside the ranges of RFC
    ///     6455 §7.4) are sent as a close frame without a code.
    ///   - reason: UTF-8 text; `nil`, the default, for none. A reason of more than 123 bytes is cut at the end of a
    ///     character (RFC 6455 §5.5).
    /// - Returns: the request.
    @discardableResult
    public func close(sending closeCode: URLSessionWebSocketTask.CloseCode, reason: Data? = nil) -> Self {
        close(sendingCode: WebSocketCloseCode(rawValue: closeCode.rawValue), reason: reason)
    }

    /// Sends a close frame with any code, including an application's code: `close(sendingCode: 4001)`.
    ///
    /// Otherwise like `close(sending:reason:)`.
    ///
    /// - Parameters:
    ///   - closeCode: the code.
    ///   - reason: UTF-8 text of at most 123 bytes; `nil`, the default, for none.
    /// - Returns: the request.
    @discardableResult
    public func close(sendingCode closeCode: WebSocketCloseCode, reason: Data? = nil) -> Self {
        let (channel, isClosed) = receiver.connection
        guard !isClosed else { return self }
        guard let channel else { return cancel() }
        channel.close(code: closeCode.wireCode, reason: reason ?? Data())
        return self
    }

    /// Sends a message after all earlier messages, once the WebSocket is open.
    ///
    /// - Parameters:
    ///   - message: text or bytes.
    ///   - queue: where `completionHandler` is called; the main queue by default.
    ///   - completionHandler: called once: when the kernel has the last byte of the message, or with the `AFError` that
    ///     ended the WebSocket earlier. A sender that waits for the call sends no faster than the network.
    @preconcurrency
    public func send(
        _ message: URLSessionWebSocketTask.Message, queue: DispatchQueue = .main,
        completionHandler: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        send(message) { error in
            queue.async { completionHandler(error.map { .failure($0) } ?? .success(())) }
        }
    }

    /// Sends a ping.
    ///
    /// While the server does not read, only the latest of several pings is sent; its pong answers all of them (RFC 6455
    /// §5.5.3).
    ///
    /// - Parameters:
    ///   - queue: where `onResponse` is called; the main queue by default.
    ///   - onResponse: called once: with the pong, with the error that ended the WebSocket before the pong, or with
    ///     `unsent` when the WebSocket is not open, or the request is suspended or cancelled.
    @preconcurrency
    public func sendPing(
        respondingOn queue: DispatchQueue = .main, onResponse: @escaping @Sendable (PingResponse) -> Void
    ) {
        ping { response in queue.async { onResponse(response) } }
    }

    /// The task of the last attempt; `nil` before the first attempt.
    public var socket: URLSessionWebSocketTask? { task as? URLSessionWebSocketTask }

    /// The code of the server's close frame, whatever its number; `nil` before the close frame has come.
    public var closeCode: WebSocketCloseCode? { (task as? AttemptWebSocketTask)?.link?.facts.closeCode }

    /// Keeps events for the first listener, and resumes a request that has not begun, as adding a listener does.
    func beginWithoutListener() {
        receiver.keepEvents()
        guard isInitialized else { return }
        if shouldAutomaticallyResume ?? core.arguments.startRequestsImmediately { resume() }
    }

    func send(_ message: URLSessionWebSocketTask.Message, completion: @escaping @Sendable (AFError?) -> Void) {
        receiver.send(.init(message: WebSocketMessage(message), completion: completion), of: self)
    }

    func ping(_ completion: @escaping @Sendable (PingResponse) -> Void) {
        guard isResumed, let channel = receiver.connection.channel else { return completion(.unsent) }
        let (start, startNanoseconds) = (core.clock.now, core.clock.monotonicNanoseconds)
        channel.ping { [self] failure in
            guard let failure else {
                // The latency comes from the monotonic clock: the system clock may be set between ping and pong.
                let latency = startNanoseconds.seconds(until: core.clock.monotonicNanoseconds)
                let end = start.addingTimeInterval(latency)
                return completion(.pong(.init(start: start, end: end, latency: latency)))
            }
            completion(.error(failure.afError(of: lastURL)))
        }
    }
}
