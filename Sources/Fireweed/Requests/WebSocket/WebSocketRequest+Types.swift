// The settings and the events of a WebSocket request.

public import FireweedTransport
public import Foundation
public import FoundationNetworking

extension WebSocketRequest {
    /// The settings of a WebSocket.
    public struct Configuration: Sendable {
        /// No subprotocol, messages up to 1 MiB, no automatic pings, no compression.
        public static var `default`: Configuration { Configuration() }

        /// A configuration that offers a subprotocol, or several separated by commas.
        public static func `protocol`(_ protocol: String) -> Configuration {
            Configuration(protocol: `protocol`)
        }

        /// A configuration that accepts messages of up to this many bytes.
        public static func maximumMessageSize(_ maximumMessageSize: Int) -> Configuration {
            Configuration(maximumMessageSize: maximumMessageSize)
        }

        /// A configuration that sends a ping every `pingInterval` seconds.
        public static func pingInterval(_ pingInterval: TimeInterval) -> Configuration {
            Configuration(pingInterval: pingInterval)
        }

        /// A configuration that offers compression.
        public static func compression(_ compression: WebSocketCompression) -> Configuration {
            Configuration(compression: compression)
        }

        /// The value of `Sec-WebSocket-Protocol`: the subprotocols to offer; `nil` leaves the request's own field
        /// unchanged.
        public let `protocol`: String?
        /// Longest message to accept, in bytes after decompression; a longer one ends the request.
        ///
        /// The close code is 1009; the error is `sessionTaskFailed` around `URLError.dataLengthExceedsMaximum`.
        /// Default: 1 MiB. A negative number counts as zero, which accepts only empty messages.
        public let maximumMessageSize: Int
        /// Seconds between automatic pings; `nil`, the default, sends none.
        ///
        /// The first ping is sent one interval after the connection. A number that is not positive and finite sends
        /// none. A slow pong delays the next ping, and is not a failure unless `requiresPongs` is set.
        public let pingInterval: TimeInterval?
        /// Whether the request ends with `URLError.timedOut` when an automatic ping has no pong before the next ping.
        ///
        /// The default is `false`, as with Alamofire.
        public let requiresPongs: Bool
        /// The compression to offer (permessage-deflate, RFC 7692); `nil`, the default, offers none.
        ///
        /// Compression of secrets together with text that an attacker chooses reveals the secrets by length (as in
        /// CRIME). It also takes about 300 KiB for each connection. Therefore it is off by default.
        public let compression: WebSocketCompression?

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - protocol: the subprotocols to offer; `nil`, the default, leaves the request's own field unchanged.
        ///   - maximumMessageSize: the longest message in bytes; 1 MiB by default.
        ///   - pingInterval: seconds between automatic pings; `nil`, the default, sends none.
        ///   - compression: the compression to offer; `nil`, the default, offers none.
        ///   - requiresPongs: whether a missing pong ends the request with `URLError.timedOut`; false by default.
        public init(
            protocol: String? = nil, maximumMessageSize: Int = 1_048_576, pingInterval: TimeInterval? = nil,
            compression: WebSocketCompression? = nil, requiresPongs: Bool = false
        ) {
            self.protocol = `protocol`
            self.maximumMessageSize = maximumMessageSize
            self.pingInterval = pingInterval
            self.requiresPongs = requiresPongs
            self.compression = compression
        }
    }

    /// The outcome of a ping.
    public enum PingResponse: Sendable {
        /// A pong, and how long it took.
        public struct Pong: Sendable {
            /// When the ping was requested.
            public let start: Date
            /// When its pong came.
            public let end: Date
            /// The time between `start` and `end`, in seconds.
            public let latency: TimeInterval
        }

        /// The server answered.
        case pong(Pong)
        /// The WebSocket ended before the answer.
        case error(any Error)
        /// No ping was sent: the WebSocket is not open, or the request is suspended or cancelled.
        case unsent
    }

    /// How a WebSocket request ended.
    public struct Completion: Sendable {
        /// The request that was sent last.
        public let request: URLRequest?
        /// The server's response to the handshake.
        public let response: HTTPURLResponse?
        /// The metrics of the last task.
        public let metrics: TaskMetrics?
        /// The error that ended the request; `nil` when both sides sent a close frame.
        public let error: AFError?
    }

    /// An event of a WebSocket, with methods to react to the event.
    public struct Event<Success: Sendable, Failure: Error>: Sendable {
        /// The kinds of events.
        public enum Kind: Sendable {
            /// The handshake is done; the server chose this subprotocol.
            case connected(protocol: String?)
            /// A message came.
            case receivedMessage(Success)
            /// A message came that the serialiser could not read.
            case serializerFailed(Failure)
            /// The server's close frame came, with this code and reason; no message comes after it.
            ///
            /// A code without a value in Foundation is `.invalid` here: the event's `closeCode` has the number.
            case disconnected(closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?)
            /// The last event.
            case completed(Completion)
        }

        weak let socket: WebSocketRequest?
        /// The event.
        public let kind: Kind

        /// The message, when one came.
        public var message: Success? {
            if case .receivedMessage(let message) = kind { message } else { nil }
        }

        /// The code of the server's close frame, whatever its number, when `kind` is `disconnected`.
        public var closeCode: WebSocketCloseCode? {
            guard case .disconnected(let code, _) = kind else { return nil }
            return code == .invalid ? socket?.closeCode : WebSocketCloseCode(rawValue: code.rawValue)
        }

        /// Sends a close frame, like ``WebSocketRequest/close(sending:reason:)``; does nothing after the request was
        /// released.
        ///
        /// - Parameters:
        ///   - closeCode: the code of the close frame (RFC 6455 §7.4).
        ///   - reason: at most 123 bytes of UTF-8; `nil`, the default, for none.
        public func close(sending closeCode: URLSessionWebSocketTask.CloseCode, reason: Data? = nil) {
            socket?.close(sending: closeCode, reason: reason)
        }

        /// Sends a close frame with any code, like ``WebSocketRequest/close(sendingCode:reason:)``; does nothing after
        /// the request was released.
        ///
        /// - Parameters:
        ///   - closeCode: the code of the close frame; it may be a code without a value in Foundation.
        ///   - reason: at most 123 bytes of UTF-8; `nil`, the default, for none.
        public func close(sendingCode closeCode: WebSocketCloseCode, reason: Data? = nil) {
            socket?.close(sendingCode: closeCode, reason: reason)
        }

        /// Cancels the request.
        public func cancel() {
            socket?.cancel()
        }

        /// Sends a ping, like ``WebSocketRequest/sendPing(respondingOn:onResponse:)``.
        ///
        /// - Parameters:
        ///   - queue: where `onResponse` is called; the main queue by default.
        ///   - onResponse: called once, with the pong or the reason why no pong came; with `unsent` after the request
        ///     was released.
        @preconcurrency
        public func sendPing(
            respondingOn queue: DispatchQueue = .main, onResponse: @escaping @Sendable (PingResponse) -> Void
        ) {
            guard let socket else { return queue.async { onResponse(.unsent) } }
            socket.sendPing(respondingOn: queue, onResponse: onResponse)
        }
    }
}

extension WebSocketMessage {
    init(_ message: URLSessionWebSocketTask.Message) {
        switch message {
        case .data(let data): self = .binary(data)
        case .string(let text): self = .text(text)
        }
    }

    /// The message as a value of Foundation's type.
    var shown: URLSessionWebSocketTask.Message {
        switch self {
        case .binary(let data): .data(data)
        case .text(let text): .string(text)
        }
    }
}
