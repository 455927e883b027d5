// Descriptions of a WebSocket's events in logs.

import Foundation
import FoundationNetworking

extension WebSocketRequest.Event: CustomStringConvertible, CustomReflectable {
    /// The description of the event's kind; no content.
    public var description: String { kind.description }

    /// No children, so that `dump` shows no more than the description.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension WebSocketRequest.Event.Kind: CustomStringConvertible, CustomReflectable {
    /// The event in words: the length of a message and of a reason, and never their content.
    public var description: String {
        switch self {
        // A subprotocol may hold a token, so only its presence is shown.
        case .connected(let name): name == nil ? "connected" : "connected, with a subprotocol"
        case .receivedMessage(let message): "received a message\(Self.length(of: message))"
        case .serializerFailed: "received a message that the serializer could not read"
        case .disconnected(let code, let reason):
            "closed by the server\(code == .invalid ? "" : " with code \(code.rawValue)")"
                + (reason.map { ", with a reason of \($0.count) bytes" } ?? "")
        case .completed(let completion): "completed: \(completion)"
        }
    }

    /// No children, so that `dump` shows no more than the description.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    private static func length(of message: Success) -> String {
        switch message {
        case let message as URLSessionWebSocketTask.Message:
            switch message {
            case .data(let data): " of \(data.count) bytes"
            case .string(let text): " of text, \(text.utf8.count) bytes"
            @unknown default: ""
            }
        case let data as Data: " of \(data.count) bytes"
        case let text as String: " of text, \(text.utf8.count) bytes"
        default: ""
        }
    }
}

extension WebSocketRequest.Completion: CustomStringConvertible, CustomReflectable {
    /// The URL without secrets, the status of the handshake, and the error; no fields.
    public var description: String {
        let url = request?.url.map { Redaction.standard.text(ofURL: $0.absoluteString) } ?? "no request"
        let status = response.map { ", status \($0.statusCode)" } ?? ""
        return "\(url)\(status), \(error.map { "failed: \($0.localizedDescription)" } ?? "closed by both sides")"
    }

    /// No children, so that `dump` shows no more than the description.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
