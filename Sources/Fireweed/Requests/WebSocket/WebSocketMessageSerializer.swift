// Serialisers of WebSocket messages.

public import Foundation
public import FoundationNetworking

/// Makes a value from each message of a WebSocket.
public protocol WebSocketMessageSerializer<Output, Failure>: Sendable {
    /// The type of the values.
    associatedtype Output: Sendable
    /// The type of the errors.
    associatedtype Failure: Error = any Error

    /// Returns the value of a message; throws when the value cannot be made.
    func decode(_ message: URLSessionWebSocketTask.Message) throws -> Output
}

/// Returns messages unchanged.
public struct PassthroughWebSocketMessageDecoder: WebSocketMessageSerializer {
    /// This serialiser does not fail.
    public typealias Failure = Never

    /// Makes a serialiser.
    public init() {}

    /// The message.
    public func decode(_ message: URLSessionWebSocketTask.Message) -> URLSessionWebSocketTask.Message { message }
}

/// Decodes a value from each message, text or bytes.
public struct DecodableWebSocketMessageDecoder<Value: Decodable & Sendable>: WebSocketMessageSerializer {
    /// Why a value could not be decoded.
    public enum Error: Swift.Error, LocalizedError {
        /// The decoder threw.
        case decoding(any Swift.Error)
        /// The message is of a kind that this library does not know.
        case unknownMessage(description: String)

        /// One sentence about what failed.
        public var errorDescription: String? {
            switch self {
            case .decoding(let error): "The message could not be decoded: \(error.plainText)"
            case .unknownMessage: "The message is neither text nor bytes."
            }
        }
    }

    /// The decoder.
    public let decoder: any DataDecoder

    /// Makes a serialiser.
    public init(decoder: any DataDecoder = JSONDecoder()) {
        self.decoder = decoder
    }

    /// Returns the decoded value; throws `DecodableWebSocketMessageDecoder.Error`.
    public func decode(_ message: URLSessionWebSocketTask.Message) throws -> Value {
        let data: Data
        switch message {
        case .data(let bytes): data = bytes
        case .string(let text): data = Data(text.utf8)
        @unknown default: throw Error.unknownMessage(description: "\(message)")
        }
        do {
            return try decoder.value(Value.self, from: data)
        } catch {
            throw Error.decoding(error)
        }
    }
}

extension WebSocketMessageSerializer {
    /// A serialiser that decodes a value from each message with a JSON decoder.
    ///
    /// The type of the values follows from the context, unless `decoding` names it. The decoder reads binary messages
    /// and text.
    @preconcurrency
    public static func json<Value: Decodable & Sendable>(
        decoding _: Value.Type = Value.self, using decoder: JSONDecoder = JSONDecoder()
    ) -> DecodableWebSocketMessageDecoder<Value> where Self == DecodableWebSocketMessageDecoder<Value> {
        DecodableWebSocketMessageDecoder<Value>(decoder: decoder)
    }
}

extension WebSocketMessageSerializer where Self == PassthroughWebSocketMessageDecoder {
    /// Returns messages unchanged.
    public static var passthrough: PassthroughWebSocketMessageDecoder { PassthroughWebSocketMessageDecoder() }
}
