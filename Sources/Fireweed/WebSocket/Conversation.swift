// What of a WebSocket request changes.

import FireweedTransport
import Foundation
import Synchronization

/// The open channel, the messages that wait for one, and who listens; behind the request's own lock.
struct Conversation: Sendable {
    struct Send: Sendable {
        let message: WebSocketMessage
        let completion: @Sendable (AFError?) -> Void
    }

    enum Step {
        case wait, refuse
        case send(any WebSocketChannel)
    }

    var channel: (any WebSocketChannel)?
    /// Between the server's goodbye and the end of the connection.
    var isClosed = false
    var sinks: [any WebSocketSink] = []
    private var waiting: [Send] = []
    private var isOver = false

    /// What to do with a message: it waits for the connection, and for those that wait already.
    mutating func handle(_ send: Send) -> Step {
        if isOver { return .refuse }
        if let channel { return .send(channel) }
        waiting.append(send)
        return .wait
    }

    /// Takes the messages that waited; when there is none any more, the channel is open for everyone.
    mutating func open(_ channel: any WebSocketChannel) -> [Send] {
        if waiting.isEmpty { self.channel = channel }
        defer { waiting = [] }
        return waiting
    }

    /// Nothing will be sent any more; gives back what still waited.
    mutating func end() -> [Send] {
        isOver = true
        channel = nil
        sinks = []
        defer { waiting = [] }
        return waiting
    }
}

extension WebSocketRequest {
    /// The handshake is done; on the transport's thread.
    func opened(_ channel: any WebSocketChannel, subprotocol: String?) {
        // The cookies of the handshake's answer: the attempt lasts as long as the WebSocket.
        if let attempt = lastAttempt, attempt.hasChores { core.rootQueue.async { attempt.doChores() } }
        // The channel is there before anyone hears of it: a listener may send or ping at once.
        while true {
            let waiting = conversation.withLock { $0.open(channel) }
            guard !waiting.isEmpty else { break }
            for send in waiting { pass(send, to: channel) }
        }
        _ = received(.connected(subprotocol))
    }

    /// Tells every listener, and says whether one of them has enough.
    func received(_ incoming: WebSocketIncoming) -> Intake {
        let sinks = conversation.withLock { $0.sinks }
        var intake = Intake.wantsMore
        for sink in sinks where sink.receive(incoming) == .isFull { intake = .isFull }
        return intake
    }

    func closed(_ code: WebSocketCloseCode, reason: Data?) {
        conversation.withLock {
            $0.channel = nil
            $0.isClosed = true
        }
        _ = received(.disconnected(code, reason))
    }

    func add(_ sink: any WebSocketSink) -> Self {
        conversation.withLock { $0.sinks.append(sink) }
        return add(sink as any ResponseSlot)
    }

    var completion: Completion {
        let evidence = evidence
        return Completion(
            request: evidence.request, response: evidence.response, metrics: evidence.metrics, error: error)
    }
}
