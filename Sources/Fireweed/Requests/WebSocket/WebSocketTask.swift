// A WebSocket as async sequences and functions.

public import Foundation
public import FoundationNetworking

/// Gives the events of a `WebSocketRequest` as async sequences, and sends messages and pings.
///
/// <!-- sample: no-run: the conversation has no end -->
/// ```swift
/// let task = session.webSocketRequest(to: "wss://example.com/chat").webSocketTask()
/// for await event in task.streamingMessageEvents() {
///     if case .connected = event.kind { try await task.send(.string("hello")) }
///     if let message = event.message { print(message) }
/// }
/// ```
public struct WebSocketTask: Sendable {
    /// A sequence of events.
    public typealias EventStreamOf<Success: Sendable, Failure: Error> = StreamOf<
        WebSocketRequest.Event<Success, Failure>
    >
    /// A message.
    public typealias Message = URLSessionWebSocketTask.Message

    private let request: WebSocketRequest

    init(request: WebSocketRequest) {
        self.request = request
    }

    // MARK: Receiving

    /// Returns a sequence of every event: the connection, each message, the close and the completion.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator is released; true
    ///     by default.
    ///   - bufferingPolicy: how much waits for a slow reader. `.unbounded`, the default, drops nothing: it stops
    ///     reading from the network while about a megabyte waits. The other policies drop events.
    /// - Returns: a sequence that does not throw; a failure is part of its last event.
    public func streamingMessageEvents(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: EventStreamOf<Message, Never>.BufferingPolicy = .unbounded
    ) -> EventStreamOf<Message, Never> {
        let events = WebSocketEvents<Message, Never>(request: request) { .receivedMessage($0.shown) }
        return stream(shouldAutomaticallyCancel, bufferingPolicy) { events.event($0) }
    }

    /// Returns a sequence of every message; it ends when the WebSocket ends for any reason.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator is released; true
    ///     by default.
    ///   - bufferingPolicy: how much waits for a slow reader. `.unbounded`, the default, drops nothing: it stops
    ///     reading from the network while about a megabyte waits. The other policies drop elements.
    /// - Returns: a sequence that does not throw; `streamingMessageEvents` also reports how the WebSocket ended.
    public func streamingMessages(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: StreamOf<Message>.BufferingPolicy = .unbounded
    ) -> StreamOf<Message> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { incoming in
            if case .message(let message) = incoming { message.shown } else { nil }
        }
    }

    /// Returns a sequence of every event, with decoded messages; an undecodable message is a `serializerFailed` event.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator is released; true
    ///     by default.
    ///   - decoder: decodes one message at a time; a `JSONDecoder` by default.
    ///   - bufferingPolicy: how much waits for a slow reader. `.unbounded`, the default, drops nothing: it stops
    ///     reading from the network while about a megabyte waits. The other policies drop elements.
    /// - Returns: a sequence that does not throw; a failure is part of its last event.
    @preconcurrency
    public func streamingDecodableEvents<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONDecoder(),
        bufferingPolicy: EventStreamOf<Value, any Error>.BufferingPolicy = .unbounded
    ) -> EventStreamOf<Value, any Error> {
        streamingEvents(
            serializedUsing: DecodableWebSocketMessageDecoder<Value>(decoder: decoder),
            automaticallyCancelling: shouldAutomaticallyCancel, bufferingPolicy: bufferingPolicy)
    }

    /// Returns a sequence of the values of every message that can be decoded; other messages are dropped.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator is released; true
    ///     by default.
    ///   - decoder: decodes one message at a time; a `JSONDecoder` by default.
    ///   - bufferingPolicy: how much waits for a slow reader. `.unbounded`, the default, drops nothing: it stops
    ///     reading from the network while about a megabyte waits. The other policies drop elements.
    /// - Returns: a sequence that does not throw; it ends when the WebSocket does.
    @preconcurrency
    public func streamingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        using decoder: any DataDecoder = JSONDecoder(),
        bufferingPolicy: StreamOf<Value>.BufferingPolicy = .unbounded
    ) -> StreamOf<Value> {
        let serializer = DecodableWebSocketMessageDecoder<Value>(decoder: decoder)
        return stream(shouldAutomaticallyCancel, bufferingPolicy) { incoming in
            guard case .message(let message) = incoming else { return nil }
            return try? serializer.decode(message.shown)
        }
    }

    /// Returns a sequence of every event, with the values that a serialiser makes from messages.
    ///
    /// - Parameters:
    ///   - serializer: makes the values, on the task that reads; a message for which it throws is a `serializerFailed`
    ///     event.
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator is released; true
    ///     by default.
    ///   - bufferingPolicy: how much waits for a slow reader. `.unbounded`, the default, drops nothing: it stops
    ///     reading from the network while about a megabyte waits. The other policies drop elements.
    /// - Returns: a sequence that does not throw; a failure is part of its last event.
    public func streamingEvents<Serializer: WebSocketMessageSerializer>(
        serializedUsing serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: EventStreamOf<Serializer.Output, any Error>.BufferingPolicy = .unbounded
    ) -> EventStreamOf<Serializer.Output, any Error> where Serializer.Failure == any Error {
        let events = WebSocketEvents<Serializer.Output, any Error>(request: request, serialise: serializer.kind)
        return stream(shouldAutomaticallyCancel, bufferingPolicy) { events.event($0) }
    }

    private func stream<Element: Sendable>(
        _ shouldAutomaticallyCancel: Bool, _ policy: StreamOf<Element>.BufferingPolicy,
        _ element: @escaping @Sendable (WebSocketIncoming) -> Element?
    ) -> StreamOf<Element> {
        let sink = SequenceWebSocketSink(request: request, limit: policy.bufferLimit)
        _ = request.add(sink as any WebSocketSink)
        return StreamOf { [request] in
            StreamSource {
                while let incoming = await sink.next() {
                    if let element = element(incoming) { return element }
                }
                return nil
            } onTermination: {
                if shouldAutomaticallyCancel { request.cancel() }
                sink.buffer.finish()
            }
        }
    }

    // MARK: Sending

    /// Sends a message; returns when the kernel has taken the message's last byte.
    ///
    /// Before the first sequence is made, the call resumes the request, as making a sequence does. Events are then kept
    /// for the first sequence; nothing is read from the network while about a megabyte of messages waits.
    ///
    /// A task that is cancelled while it awaits this method throws `CancellationError`; the message may still be sent.
    ///
    /// Throws the `AFError` that ended the WebSocket, if the WebSocket has ended.
    public func send(_ message: Message) async throws {
        try Task.checkCancellation()
        request.beginWithoutListener()
        let sent = OneAnswer<Result<Void, any Error>>()
        request.send(message) { error in sent.give(error.map { .failure($0) } ?? .success(())) }
        try await sent.value(ifCancelled: .failure(CancellationError())).get()
    }

    /// Sends a ping, and returns the pong or the reason why no pong came.
    ///
    /// A task that is cancelled while it awaits this method gets `CancellationError` as the reason.
    public func sendPing() async -> WebSocketRequest.PingResponse {
        guard !Task.isCancelled else { return .error(CancellationError()) }
        let answer = OneAnswer<WebSocketRequest.PingResponse>()
        request.ping { answer.give($0) }
        return await answer.value(ifCancelled: .error(CancellationError()))
    }

    // MARK: Control

    /// Sends a close frame, like `WebSocketRequest.close(sending:reason:)`.
    public func close(sending closeCode: URLSessionWebSocketTask.CloseCode, reason: Data? = nil) {
        request.close(sending: closeCode, reason: reason)
    }

    /// Sends a close frame with any code, like `WebSocketRequest.close(sendingCode:reason:)`.
    public func close(sendingCode closeCode: WebSocketCloseCode, reason: Data? = nil) {
        request.close(sendingCode: closeCode, reason: reason)
    }

    /// Cancels the request.
    public func cancel() {
        request.cancel()
    }

    /// Suspends the request: nothing is read from the network.
    public func suspend() {
        request.suspend()
    }

    /// Resumes the request.
    public func resume() {
        request.resume()
    }
}

extension WebSocketRequest {
    /// Returns a `WebSocketTask`, which offers the WebSocket as async sequences and functions.
    public func webSocketTask() -> WebSocketTask {
        WebSocketTask(request: self)
    }
}
