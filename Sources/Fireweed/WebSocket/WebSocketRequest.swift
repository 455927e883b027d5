// A request that becomes a conversation.

import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A WebSocket (RFC 6455): messages in both directions after a handshake that is a request like any other.
///
/// Interceptors, header fields, cookies, proxies, trust and redirects apply to the handshake as to every request, and so do
/// credentials for Basic, Digest and NTLM; Negotiate is not possible. A status other than 101 ends the request with
/// `URLError.badServerResponse`, and `response` has it. Events come in this order: connected, any number of messages, disconnected when both sides have said goodbye, then completed.
///
/// ```swift
/// let socket = session.webSocketRequest(to: "wss://example.com/chat").streamMessages { message in
///     print(message)
/// }
/// socket.send(.string("hello")) { result in print(result) }
/// ```
public final class WebSocketRequest: Request, @unchecked Sendable {
    // SAFETY: as for every request: what is added is a `let` of `Sendable` type.

    /// What the request was made from.
    public let convertible: any URLRequestConvertible
    /// The settings of the WebSocket.
    public let configuration: Configuration
    let conversation = Mutex(Conversation())

    init(
        convertible: any URLRequestConvertible, configuration: Configuration, core: SessionCore,
        interceptor: (any RequestInterceptor)?, shouldAutomaticallyResume: Bool?
    ) {
        self.convertible = convertible
        self.configuration = configuration
        super.init(core: core, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: The way of a request

    override func makeRecord() throws -> RequestRecord {
        let record = try RequestRecord(convertible)
        guard let name = configuration.protocol else { return record }
        var request = record.urlRequest
        request.headers.update(.websocketProtocol(name))
        return try RequestRecord(request)
    }

    override func makeBody(for record: RequestRecord) throws -> BodySource { .none }

    override var acceptableSchemes: [String] { WebSocketURL.schemes }

    override func prepared(_ message: consuming OutgoingMessage, _ record: RequestRecord) -> OutgoingMessage {
        var message = message
        message.url = WebSocketURL.onTheWire(record.url)
        message.method = "GET"
        message.urlRequest = record.urlRequest
        if message.credentials == nil, let user = record.url.user?.removingPercentEncoding {
            let password = record.url.password?.removingPercentEncoding ?? ""
            message.adopt(RequestMessage.Credentials(user: user, password: password))
        }
        message.webSocket = WebSocketOffer(
            compression: configuration.compression, maximumMessageByteCount: configuration.maximumMessageSize,
            pingInterval: configuration.pingInterval, requiresPongs: configuration.requiresPongs,
            listener: WebSocketLink(request: self))
        return message
    }

    override var taskKind: TaskKind { .webSocket }

    override func contentEnded(_ attempt: Attempt?) {
        conversation.withLock {
            $0.channel = nil
            $0.isClosed = false
        }
    }

    override func cleanup() {
        let waiting = conversation.withLock { $0.end() }
        let error = error ?? .sessionTaskFailed(error: URLError(.networkConnectionLost))
        for send in waiting { send.completion(error) }
    }

    // MARK: Control

    /// Sends a close frame with a code and a reason, once everything before it is sent.
    ///
    /// A reason of more than 123 bytes is cut at the end of a character (RFC 6455 §5.5).
    /// The server answers with its own, which is the `disconnected` event; `completed` follows. Codes that may not be sent (1005,
    /// 1006, 1015, and numbers outside the ranges of RFC 6455 §7.4) go out as a close frame without a code. Before the WebSocket is
    /// open this is `cancel()`; after the server's goodbye it has no effect.
    @discardableResult
    public func close(sending closeCode: URLSessionWebSocketTask.CloseCode, reason: Data? = nil) -> Self {
        close(sendingCode: WebSocketCloseCode(rawValue: closeCode.rawValue), reason: reason)
    }

    /// Sends a close frame with any code, those of applications among them: `close(sendingCode: 4001)`.
    ///
    /// Otherwise like `close(sending:reason:)`.
    @discardableResult
    public func close(sendingCode closeCode: WebSocketCloseCode, reason: Data? = nil) -> Self {
        let (channel, isClosed) = conversation.withLock { ($0.channel, $0.isClosed) }
        guard !isClosed else { return self }
        guard let channel else { return cancel() }
        channel.close(code: closeCode.wireCode, reason: reason ?? Data())
        return self
    }

    /// Sends a message, after the ones before it and not before the WebSocket is open.
    ///
    /// `completionHandler` is called on `queue` once the message's last byte was handed to the kernel, or with the error because of
    /// which it never will be. A sender that waits for it is slowed down to the speed of the network.
    @preconcurrency
    public func send(
        _ message: URLSessionWebSocketTask.Message, queue: DispatchQueue = .main,
        completionHandler: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        send(message) { error in
            queue.async { completionHandler(error.map { .failure($0) } ?? .success(())) }
        }
    }

    /// Sends a ping and tells how it went, on `queue`: with the pong, with the error that came first, or that none was sent, because
    /// the WebSocket is not open or the request is suspended.
    ///
    /// While the server does not read, of several pings the latest alone is sent; its pong answers all of them (RFC
    /// 6455 §5.5.3).
    @preconcurrency
    public func sendPing(
        respondingOn queue: DispatchQueue = .main, onResponse: @escaping @Sendable (PingResponse) -> Void
    ) {
        ping { response in queue.async { onResponse(response) } }
    }

    /// The task of the last attempt, once there is one.
    public var socket: URLSessionWebSocketTask? { task as? URLSessionWebSocketTask }

    /// The code of the server's close frame, whatever its number; `nil` while none has come.
    public var closeCode: WebSocketCloseCode? { (task as? AttemptWebSocketTask)?.link?.facts.closeCode }

    func send(_ message: URLSessionWebSocketTask.Message, completion: @escaping @Sendable (AFError?) -> Void) {
        let send = Conversation.Send(message: WebSocketMessage(message), completion: completion)
        switch conversation.withLock({ $0.handle(send) }) {
        case .wait: break
        case .refuse: completion(error ?? .sessionTaskFailed(error: URLError(.networkConnectionLost)))
        case .send(let channel): pass(send, to: channel)
        }
    }

    func ping(_ completion: @escaping @Sendable (PingResponse) -> Void) {
        guard isResumed, let channel = conversation.withLock({ $0.channel }) else { return completion(.unsent) }
        let start = Date()
        channel.ping { [self] failure in
            guard let failure else {
                let end = Date()
                return completion(.pong(.init(start: start, end: end, latency: end.timeIntervalSince(start))))
            }
            completion(.error(failure.afError(of: lastURL)))
        }
    }

    func pass(_ send: Conversation.Send, to channel: any WebSocketChannel) {
        channel.send(send.message) { [self] failure in
            send.completion(failure.map { $0.afError(of: lastURL) })
        }
    }

    private var lastURL: URL {
        lastAttempt?.record.url ?? URL(fileURLWithPath: "/")
    }
}
