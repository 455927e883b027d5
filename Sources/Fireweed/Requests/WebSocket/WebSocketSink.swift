// The receiver of a WebSocket's events: a closure on a queue, or an async sequence.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// An event of a WebSocket, before serialisation.
enum WebSocketIncoming: Sendable {
    case connected(String?)
    case message(WebSocketMessage)
    case disconnected(WebSocketCloseCode, Data?)
    case completed(WebSocketRequest.Completion)

    /// The event's weight in a backlog; an empty message takes memory too.
    var cost: Int {
        if case .message(let message) = self { message.byteCount + 64 } else { 0 }
    }
}

/// One listener of a WebSocket.
///
/// It is also a response handler: its completion is delivered in order with the request's other handlers.
protocol WebSocketSink: ResponseHandler {
    /// Takes an event on the transport's thread; returns `.isFull` when too much waits to be consumed.
    func receive(_ incoming: WebSocketIncoming) -> Demand
}

extension WebSocketSink {
    func serialise() -> AFError? { nil }
    func fail(with error: AFError) {}
    func wakeForConclusion() -> Bool { false }
}

/// Converts the transport's events into public events.
struct WebSocketEvents<Success: Sendable, Failure: Error>: Sendable {
    typealias Event = WebSocketRequest.Event<Success, Failure>

    let request: WebSocketRequest
    let serialise: @Sendable (WebSocketMessage) -> Event.Kind

    func event(_ incoming: WebSocketIncoming) -> Event {
        let kind: Event.Kind =
            switch incoming {
            case .connected(let name): .connected(protocol: name)
            case .message(let message): serialise(message)
            case .disconnected(let code, let reason): .disconnected(closeCode: code.urlSessionCode, reason: reason)
            case .completed(let completion): .completed(completion)
            }
        return Event(socket: request, kind: kind)
    }
}

/// Calls a closure on a queue; serialises messages on another queue, if they have to be serialised.
final class ClosureWebSocketSink<Success: Sendable, Failure: Error>: WebSocketSink {
    private let events: WebSocketEvents<Success, Failure>
    private let queue: DispatchQueue
    private let serialisationQueue: DispatchQueue?
    private let handler: @Sendable (WebSocketRequest.Event<Success, Failure>) -> Void
    private let backlog = Mutex(Backlog())

    /// Makes a listener; messages are serialised on `serialisationQueue`, or on the handler's queue when
    /// `serialisationQueue` is `nil`.
    init(
        events: WebSocketEvents<Success, Failure>, queue: DispatchQueue, serialisationQueue: DispatchQueue?,
        handler: @escaping @Sendable (WebSocketRequest.Event<Success, Failure>) -> Void
    ) {
        self.events = events
        // The given queues may be concurrent: serial queues that target them keep the order.
        self.queue = DispatchQueue(label: "fireweed.websocket.handler", target: queue)
        self.serialisationQueue = serialisationQueue.map { DispatchQueue(label: "fireweed.websocket", target: $0) }
        self.handler = handler
    }

    func receive(_ incoming: WebSocketIncoming) -> Demand {
        let cost = incoming.cost
        let isFull = backlog.withLock { backlog in
            backlog.add(cost)
            return backlog.isFull
        }
        guard let serialisationQueue else {
            queue.async { [self] in notify(events.event(incoming), cost: cost) }
            return isFull ? .isFull : .wantsMore
        }
        serialisationQueue.async { [self] in
            let event = events.event(incoming)
            queue.async { [self] in notify(event, cost: cost) }
        }
        return isFull ? .isFull : .wantsMore
    }

    private func notify(_ event: WebSocketRequest.Event<Success, Failure>, cost: Int) {
        handler(event)
        if backlog.withLock({ $0.remove(cost) }) { events.request.lastAttempt?.resumeIntake() }
    }

    func deliver() {
        _ = receive(.completed(events.request.completion))
    }
}

/// Feeds an async sequence; messages are serialised by the task that reads the sequence.
final class SequenceWebSocketSink: WebSocketSink {
    private let request: WebSocketRequest
    private let backlog = Mutex(Backlog())
    private let isLossless: Bool
    let buffer: StreamBuffer<WebSocketIncoming>

    init(request: WebSocketRequest, limit: BufferLimit) {
        self.request = request
        if case .unbounded = limit { isLossless = true } else { isLossless = false }
        buffer = StreamBuffer(limit: limit)
    }

    func receive(_ incoming: WebSocketIncoming) -> Demand {
        let isFull =
            isLossless
            && backlog.withLock { backlog in
                backlog.add(incoming.cost)
                return backlog.isFull
            }
        buffer.push(incoming)
        return isFull ? .isFull : .wantsMore
    }

    /// Returns the next event; the transport continues when there is room again.
    func next() async -> WebSocketIncoming? {
        guard let incoming = await buffer.next() else { return nil }
        if isLossless, backlog.withLock({ $0.remove(incoming.cost) }) { request.lastAttempt?.resumeIntake() }
        return incoming
    }

    func deliver() {
        buffer.push(.completed(request.completion))
        buffer.finish()
    }
}
