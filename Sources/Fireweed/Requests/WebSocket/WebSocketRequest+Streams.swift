// Listening to a WebSocket with closures.

public import Dispatch
import FireweedTransport
public import Foundation
public import FoundationNetworking

extension WebSocketRequest {
    /// Calls `handler` with every event; a serialiser makes the values of messages.
    ///
    /// Each listener gets every event that comes after it was added. The slowest listener limits how fast the
    /// connection is read: about a megabyte at most waits for one listener.
    ///
    /// - Parameters:
    ///   - serializer: makes the values, on the session's serialisation queue; a message for which it throws is a
    ///     `serializerFailed` event.
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - handler: called with each event, in order and one call at a time.
    /// - Returns: the request.
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

    /// Calls `handler` with every event; messages are decoded.
    ///
    /// Each listener gets every event that comes after it was added. The slowest listener limits how fast the
    /// connection is read: about a megabyte at most waits for one listener.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - decoder: decodes one message at a time; a `JSONDecoder` by default.
    ///   - handler: called with each event, in order and one call at a time; a message that cannot be decoded is
    ///     a `serializerFailed` event.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func streamDecodableEvents<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, on queue: DispatchQueue = .main,
        using decoder: any DataDecoder = JSONDecoder(),
        handler: @escaping @Sendable (_ event: Event<Value, any Error>) -> Void
    ) -> Self {
        streamSerializer(DecodableWebSocketMessageDecoder<Value>(decoder: decoder), on: queue, handler: handler)
    }

    /// Calls `handler` with the value of every message that can be decoded; other messages are dropped.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - decoder: decodes one message at a time; a `JSONDecoder` by default.
    ///   - handler: called with each value, in order and one call at a time.
    /// - Returns: the request.
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

    /// Calls `handler` with every event: the connection, each message, the close and the completion.
    ///
    /// Each listener gets every event that comes after it was added. The slowest listener limits how fast the
    /// connection is read: about a megabyte at most waits for one listener.
    ///
    /// - Parameters:
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - handler: called with each event, in order and one call at a time.
    /// - Returns: the request.
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

    /// Calls `handler` with every message.
    ///
    /// - Parameters:
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - handler: called with each message, in order and one call at a time.
    /// - Returns: the request.
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
    /// Returns the event for a message: with its value, or with the serialiser's error.
    @Sendable
    func kind(of message: WebSocketMessage) -> WebSocketRequest.Event<Output, any Error>.Kind {
        do {
            return .receivedMessage(try decode(message.shown))
        } catch {
            return .serializerFailed(error)
        }
    }
}
