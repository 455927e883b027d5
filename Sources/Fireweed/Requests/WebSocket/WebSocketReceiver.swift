// Delivery of a WebSocket's events to its listeners.

import FireweedTransport
import Foundation
import Synchronization

/// Makes the opening handshake of a WebSocket request, and passes the WebSocket's events to its listeners.
final class WebSocketReceiver: ResponseReceiver {
    let configuration: WebSocketRequest.Configuration
    private let lifecycle = Mutex(WebSocketLifecycle())

    init(_ configuration: WebSocketRequest.Configuration) {
        self.configuration = configuration
    }

    // MARK: The handshake

    var schemes: [String] { WebSocketURL.schemes }

    func completing(_ record: RequestRecord) throws -> RequestRecord {
        guard let name = configuration.protocol else { return record }
        var request = record.urlRequest
        request.headers.update(.websocketProtocol(name))
        return try RequestRecord(request)
    }

    func completing(
        _ message: consuming OutgoingMessage, of record: RequestRecord, for request: Request
    ) -> OutgoingMessage {
        var message = message
        message.url = WebSocketURL.onTheWire(record.url)
        message.method = "GET"
        message.body = .none
        message.urlRequest = record.urlRequest
        if message.credentials == nil, let user = record.url.user?.removingPercentEncoding {
            let password = record.url.password?.removingPercentEncoding ?? ""
            message.adopt(RequestMessage.Credentials(user: user, password: password))
        }
        message.webSocket = WebSocketOffer(
            compression: configuration.compression, maximumMessageByteCount: configuration.maximumMessageSize,
            pingInterval: configuration.pingInterval, requiresPongs: configuration.requiresPongs,
            listener: WebSocketEventListener(request: request, receiver: self))
        return message
    }

    func request(_ request: Request, reached stage: ConclusionStage) {
        switch stage {
        case .contentEnd: lifecycle.withLock { $0.disconnect() }
        case .validated, .retry, .outcome: break
        case .delivery:
            let waiting = lifecycle.withLock { $0.end() }
            for send in waiting { send.completion(request.endError) }
        }
    }

    // MARK: Events; on the transport's thread

    /// Called when the handshake is done.
    func opened(_ channel: any WebSocketChannel, subprotocol: String?, of request: Request) {
        // The attempt ends only with the WebSocket, so the cookies of the handshake's response are stored now.
        if let attempt = request.lastAttempt, attempt.hasDeferredWork {
            request.core.arguments.rootQueue.async { attempt.beginDeferredWork() }
        }
        // The channel is set before a listener is notified, since the listener may send or ping immediately.
        while true {
            let waiting = lifecycle.withLock { $0.open(channel) }
            guard !waiting.isEmpty else { break }
            for send in waiting { pass(send, to: channel, of: request) }
        }
        _ = receive(.connected(subprotocol))
    }

    /// Notifies every listener; returns `.isFull` when a listener is full.
    func receive(_ incoming: WebSocketIncoming) -> Demand {
        var (sinks, intake) = lifecycle.withLock { ($0.sinks, $0.keep(incoming)) }
        for sink in sinks where sink.receive(incoming) == .isFull { intake = .isFull }
        return intake
    }

    /// Called when the server's close frame has come.
    func closed(_ code: WebSocketCloseCode, reason: Data?) {
        lifecycle.withLock { $0.close() }
        _ = receive(.disconnected(code, reason))
    }

    // MARK: The request's side

    /// Adds a listener; the first listener gets the kept events before any other event.
    func add(_ sink: any WebSocketSink, of request: Request) {
        guard lifecycle.withLock({ $0.add(sink) }) == .deliverKept else { return }
        var isFull = false
        // More events may be kept while `sink` takes these. The loop ends when none is left; `sink` then gets events
        // directly.
        while let events = lifecycle.withLock({ $0.takeKept(for: sink) }) {
            for event in events where sink.receive(event) == .isFull { isFull = true }
        }
        // A full listener resumes reading itself when it has room.
        if !isFull { request.lastAttempt?.resumeIntake() }
    }

    /// Keeps events from now on, until there is a listener.
    func keepEvents() {
        lifecycle.withLock { $0.keepEvents() }
    }

    /// The open channel, and whether the server's close frame has come.
    var connection: (channel: (any WebSocketChannel)?, isClosed: Bool) {
        lifecycle.withLock { ($0.channel, $0.isClosed) }
    }

    /// Sends a message, or keeps it until the WebSocket is open.
    func send(_ send: WebSocketLifecycle.Send, of request: Request) {
        switch lifecycle.withLock({ $0.handle(send) }) {
        case .wait: break
        case .refuse: send.completion(request.endError)
        case .send(let channel): pass(send, to: channel, of: request)
        }
    }

    private func pass(_ send: WebSocketLifecycle.Send, to channel: any WebSocketChannel, of request: Request) {
        channel.send(send.message) { failure in
            send.completion(failure.map { $0.afError(of: request.lastURL) })
        }
    }
}

/// The open channel, the messages that wait for the channel, and the listeners.
struct WebSocketLifecycle: Sendable {
    struct Send: Sendable {
        let message: WebSocketMessage
        let completion: @Sendable (AFError?) -> Void
    }

    /// The events that wait for the first listener.
    private struct BufferedEvents {
        var events: [WebSocketIncoming] = []
        var backlog = Backlog()
        /// True while the first listener takes the events.
        var isTaken = false
    }

    /// The result of adding a listener.
    enum Adding {
        case added
        /// The kept events must be delivered first.
        case deliverKept
    }

    /// The decision about a message to send.
    enum Sending {
        case wait, refuse
        case send(any WebSocketChannel)
    }

    private(set) var channel: (any WebSocketChannel)?
    /// True between the server's close frame and the end of the connection.
    private(set) var isClosed = false
    private(set) var sinks: [any WebSocketSink] = []
    /// The events that wait for the first listener; `nil` when none are kept.
    private var kept: BufferedEvents?
    private var waiting: [Send] = []
    private var isOver = false

    // MARK: Listeners

    /// Keeps events from now on, if there is no listener.
    mutating func keepEvents() {
        if sinks.isEmpty, kept == nil, !isOver { kept = BufferedEvents() }
    }

    /// Keeps an event for the first listener, if events are kept; returns `.isFull` when too much waits.
    mutating func keep(_ incoming: WebSocketIncoming) -> Demand {
        guard kept != nil else { return .wantsMore }
        kept?.events.append(incoming)
        kept?.backlog.add(incoming.cost)
        return kept?.backlog.isFull == true ? .isFull : .wantsMore
    }

    mutating func add(_ sink: any WebSocketSink) -> Adding {
        guard kept?.isTaken == false else {
            sinks.append(sink)
            return .added
        }
        kept?.isTaken = true
        return .deliverKept
    }

    /// Takes the kept events; when none is left, adds the listener, which then gets events directly, and returns `nil`.
    mutating func takeKept(for sink: any WebSocketSink) -> [WebSocketIncoming]? {
        guard let events = kept?.events, !events.isEmpty else {
            kept = nil
            if !isOver { sinks.append(sink) }
            return nil
        }
        kept?.events = []
        kept?.backlog = Backlog()
        return events
    }

    // MARK: Sending

    /// Decides about a message; until the WebSocket is open, the message waits after the earlier messages.
    mutating func handle(_ send: Send) -> Sending {
        if isOver { return .refuse }
        if let channel { return .send(channel) }
        waiting.append(send)
        return .wait
    }

    /// Takes the messages that wait; sets the channel when none waits, so that later messages are sent directly.
    mutating func open(_ channel: any WebSocketChannel) -> [Send] {
        if waiting.isEmpty { self.channel = channel }
        defer { waiting = [] }
        return waiting
    }

    /// Records that the server's close frame has come.
    mutating func close() {
        channel = nil
        isClosed = true
    }

    /// Records that the connection has ended; a retry may make a new connection.
    mutating func disconnect() {
        channel = nil
        isClosed = false
    }

    /// Ends sending, and drops the listeners; returns the messages that still wait.
    mutating func end() -> [Send] {
        isOver = true
        channel = nil
        sinks = []
        defer { waiting = [] }
        return waiting
    }
}

extension Request {
    /// The URL of the last attempt.
    var lastURL: URL { lastAttempt?.record.url ?? URL(fileURLWithPath: "/") }

    /// The error for messages that can no longer be sent.
    fileprivate var endError: AFError { error ?? .sessionTaskFailed(error: URLError(.networkConnectionLost)) }
}
