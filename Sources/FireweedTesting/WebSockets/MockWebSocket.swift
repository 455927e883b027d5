// The server's end of a WebSocket in a test.

public import Fireweed
public import Foundation
import Synchronization

/// The server's end of a WebSocket that a stub or a ``MockServer`` opened; a script uses it to send and receive.
public final class MockWebSocket: Sendable {
    /// The handshake's request.
    public let request: RecordedRequest
    private let perform: @Sendable (Action) -> Void
    private let inbox = MessageInbox()

    enum Action: Sendable {
        case send(WebSocketMessage)
        case close(code: UInt16, reason: Data)
        case fail(any Error)
    }

    init(request: RecordedRequest, perform: @escaping @Sendable (Action) -> Void) {
        self.request = request
        self.perform = perform
    }

    // MARK: Sending

    /// Sends a text message; does nothing once the WebSocket is closed.
    public func send(_ text: String) { send(.text(text)) }

    /// Sends a binary message; does nothing once the WebSocket is closed.
    public func send(_ data: Data) { send(.binary(data)) }

    /// Sends a message; does nothing once the WebSocket is closed.
    public func send(_ message: WebSocketMessage) { perform(.send(message)) }

    /// Sends a close frame (RFC 6455 §5.5.1), and ends the WebSocket.
    ///
    /// - Parameters:
    ///   - code: the code; 1000 by default.
    ///   - reason: text, of which at most 123 bytes are sent; none by default.
    public func close(_ code: WebSocketCloseCode = .normalClosure, reason: String = "") {
        let reason = CloseReason.fitting(Data(reason.utf8))
        perform(.close(code: UInt16(clamping: code.rawValue), reason: Data(reason)))
    }

    /// Ends the WebSocket without a close frame, as a lost connection does.
    ///
    /// - Parameter error: the error of a stubbed session's request; a ``MockServer`` closes the connection instead.
    public func fail(with error: any Error = URLError(.networkConnectionLost)) {
        perform(.fail(error))
    }

    // MARK: Receiving

    /// Waits for the client's next message, and returns it.
    ///
    /// - Throws: ``MockWebSocketClosed`` when the client closed or is gone, `CancellationError` when the task is
    ///   cancelled.
    public func receive() async throws -> WebSocketMessage {
        try await inbox.next()
    }

    /// The client's messages, until the client closes or is gone.
    public var messages: AsyncThrowingStream<WebSocketMessage, any Error> {
        AsyncThrowingStream { [inbox] in
            do {
                return try await inbox.next()
            } catch is MockWebSocketClosed {
                return nil
            }
        }
    }

    /// Plays a script, and ends the WebSocket when the script ends: the bridge from a transport's thread to
    /// asynchronous code.
    func run(_ script: WebSocketScript) -> Task<Void, Never> {
        Task {
            do {
                try await script.play(self)
                close()
            } catch is CancellationError {
                close(.goingAway)
            } catch is MockWebSocketClosed {
                // The client has closed while the script waited for a message: the WebSocket is over.
            } catch {
                fail(with: error)
            }
        }
    }

    func took(_ message: WebSocketMessage) { inbox.add(message) }

    func closed(code: UInt16?, reason: Data) {
        inbox.close(
            MockWebSocketClosed(
                code: code.map { WebSocketCloseCode(rawValue: Int($0)) },
                reason: String(decoding: reason, as: UTF8.self)))
    }
}

/// The client closed a WebSocket, or is gone.
public struct MockWebSocketClosed: Error, Sendable, LocalizedError {
    /// The code of the client's close frame; `nil` when none came.
    public let code: WebSocketCloseCode?
    /// The reason in the client's close frame; empty without one.
    public let reason: String

    /// A sentence with the code and the reason.
    public var errorDescription: String? {
        let code = code.map { "with the code \($0.rawValue)" } ?? "without a close frame"
        return "The client has closed the WebSocket \(code)\(reason.isEmpty ? "" : ": \(reason)")."
    }
}

/// The messages that a script has not taken yet.
private final class MessageInbox: Sendable {
    private typealias Reader = CheckedContinuation<WebSocketMessage, any Error>

    private struct State {
        var messages: [WebSocketMessage] = []
        var end: (any Error)?
        /// The readers that wait, in the order in which they came.
        var waiters: [(number: Int, reader: Reader)] = []
        var count = 0

        /// Removes and returns the next message, or returns the end; `nil` when a reader has to wait.
        mutating func next() -> Result<WebSocketMessage, any Error>? {
            if !messages.isEmpty { return .success(messages.removeFirst()) }
            return end.map { .failure($0) }
        }

        /// Removes the first waiting reader, and returns the reader with its message or the end; `nil` when neither is
        /// there.
        mutating func ready() -> (reader: Reader, result: Result<WebSocketMessage, any Error>)? {
            guard !waiters.isEmpty, let result = next() else { return nil }
            return (waiters.removeFirst().reader, result)
        }
    }

    private let state = Mutex(State())

    func add(_ message: WebSocketMessage) { change { $0.messages.append(message) } }

    func close(_ error: any Error) { change { $0.end = $0.end ?? error } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        // This is a loop, since the end of the WebSocket resumes all waiting readers.
        while let (reader, result) = state.withLock({ $0.ready() }) { reader.resume(with: result) }
    }

    func next() async throws -> WebSocketMessage {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<WebSocketMessage, any Error>? in
                    if let result = state.next() { return result }
                    // Checked under the lock: either the handler below finds the reader, or this check finds the
                    // cancellation.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiters.append((number, continuation))
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
            }
            waiter?.reader.resume(throwing: CancellationError())
        }
    }
}
