// Listening to a WebSocket with closures.

public import Dispatch
import FireweedTransport
public import Foundation
public import FoundationNetworking

extension WebSocketRequest {
    /// Calls `handler` on `queue` with every event; messages are what the serialiser makes of them.
    ///
    /// Each listener gets every event that comes after it was added. The slowest listener limits how fast the
    /// connection is read: about a megabyte at most waits for one listener.
    @discardableResult
    @preconcurrency
    public func streamSerializer<Serializer: WebSocketMessageSerializer>(
        _ serializer: Serializer, on queue: DispatchQueue = .main,
        handler: @escaping @Sendable (_ event: Event<Serializer.Output, Serializer.Failure>) -> Void
    ) -> Self where Serializer.Failure == any Error {
        let events = WebSocketEvents<Serializer.Output, any Error>(request: self, serialise: serializer.kind)
        return add(
            ClosureWebSocketSink(
                events: events, queue: queue, serialisationQueue: serializationQueue, handler: handler))
    }

    /// Calls `handler` on `queue` with every event; messages are decoded.
    @discardableResult
    @preconcurrency
    public func streamDecodableEvents<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, on queue: DispatchQueue = .main,
        using decoder: any DataDecoder = JSONDecoder(),
        handler: @escaping @Sendable (_ event: Event<Value, any Error>) -> Void
    ) -> Self {
        streamSerializer(DecodableWebSocketMessageDecoder<Value>(decoder: decoder), on: queue, handler: handler)
    }

    /// Calls `handler` on `queue` with the value of every message that can be decoded.
    @discardableResult
    @preconcurrency
    public func streamDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, on queue: DispatchQueue = .main,
        using decoder: any DataDecoder = JSONDecoder(),
        handler: @escaping @Sendable (_ value: Value) -> Void
    ) -> Self {
        streamDecodableEvents(Value.self, on: queue, using: decoder) { event in
            if let value = event.message { handler(value) }
        }
    }

    /// Calls `handler` on `queue` with every event.
    @discardableResult
    @preconcurrency
    public func streamMessageEvents(
        on queue: DispatchQueue = .main,
        handler: @escaping @Sendable (_ event: Event<URLSessionWebSocketTask.Message, Never>) -> Void
    ) -> Self {
        let events = WebSocketEvents<URLSessionWebSocketTask.Message, Never>(request: self) {
            .receivedMessage($0.shown)
        }
        return add(ClosureWebSocketSink(events: events, queue: queue, serialisationQueue: nil, handler: handler))
    }

    /// Calls `handler` on `queue` with every message.
    @discardableResult
    @preconcurrency
    public func streamMessages(
        on queue: DispatchQueue = .main,
        handler: @escaping @Sendable (_ message: URLSessionWebSocketTask.Message) -> Void
    ) -> Self {
        streamMessageEvents(on: queue) { event in
            if let message = event.message { handler(message) }
        }
    }
}

extension WebSocketMessageSerializer where Failure == any Error {
    /// What the serialiser makes of a message, as an event.
    @Sendable
    func kind(of message: WebSocketMessage) -> WebSocketRequest.Event<Output, any Error>.Kind {
        do {
            return .receivedMessage(try decode(message.shown))
        } catch {
            return .serializerFailed(error)
        }
    }
}
