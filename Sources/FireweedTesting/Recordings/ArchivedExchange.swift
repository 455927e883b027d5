// An exchange in an HTTP archive.

import Fireweed
import Foundation

/// One entry of an archive (HAR 1.2), with the additions and omissions of the programs that write archives.
///
/// Only the request's method and URL are required. A member that cannot be read is an error, except the size of
/// content: a replay with other bytes than were recorded is worse than no replay.
struct ArchivedExchange: Decodable, Sendable {
    struct Archive: Decodable {
        let log: Log
    }

    struct Log: Decodable {
        let entries: [ArchivedExchange]
    }

    struct Pair: Decodable, Sendable {
        let name: String
        let value: String?
    }

    struct Request: Decodable, Sendable {
        let method: String
        let url: String
        let postData: ArchivedContent?
    }

    struct Response: Decodable, Sendable {
        let status: Int?
        let headers: [Pair]?
        let content: ArchivedContent?
    }

    /// The properties of a request that select its exchanges in a recording.
    struct Key: Hashable {
        let method: String
        let url: String
        let body: Data?
        let isWebSocket: Bool
    }

    /// Why a response is incomplete, in a key that ``RecordingTransport`` writes; a response without the key is
    /// complete.
    enum Termination: String, Decodable {
        /// The exchange failed after the response's head; the replay fails with a lost connection.
        case lost
        /// The client cancelled before the content's end, as with an endless stream.
        case left
    }

    let startedDateTime: String?
    let request: Request
    /// The response; `nil` when the exchange had not ended when the archive was written.
    let response: Response?
    let ending: Termination?
    private let resourceType: String?
    private let webSocketMessages: [ArchivedMessage]?

    private enum CodingKeys: String, CodingKey {
        case startedDateTime, request, response
        case ending = "_ending"
        case resourceType = "_resourceType"
        case webSocketMessages = "_webSocketMessages"
    }

    /// The messages of a WebSocket; `nil` for every other exchange.
    ///
    /// Chrome leaves the messages out when there are none.
    var messages: [ArchivedMessage]? {
        if let webSocketMessages { return webSocketMessages }
        let scheme = request.url.prefix { $0 != ":" }.lowercased()
        return resourceType == "websocket" || scheme == "ws" || scheme == "wss" ? [] : nil
    }

    var key: Key {
        Key(
            method: request.method, url: request.url, body: request.postData?.sentData, isWebSocket: messages != nil)
    }
}

/// Content of a request or a response.
struct ArchivedContent: Decodable, Sendable {
    let mimeType: String?
    /// The content; `nil` where the archive has none.
    let data: Data?
    /// Whether the content was written as text: `data` is UTF-8, whatever the character set was on the wire.
    let isText: Bool
    /// The length that the content had; `nil` when unknown.
    let byteCount: Int?
    private let params: [Parameter]?

    private struct Parameter: Decodable {
        let name: String
        let value: String?
    }

    private enum CodingKeys: String, CodingKey {
        case mimeType, text, encoding, params, size
        /// The key that ``RecordingTransport`` uses in requests, for which HAR 1.2 has no `encoding`.
        case requestEncoding = "_encoding"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        mimeType = try container.decodeIfPresent(String.self, forKey: .mimeType)
        params = try container.decodeIfPresent([Parameter].self, forKey: .params)
        // Used only to detect content that was left out: a value that is not an integer, such as a string, is ignored.
        byteCount = try? container.decodeIfPresent(Int.self, forKey: .size)
        let text = try container.decodeIfPresent(String.self, forKey: .text)
        let encoding =
            try container.decodeIfPresent(String.self, forKey: .encoding)
            ?? container.decodeIfPresent(String.self, forKey: .requestEncoding) ?? ""
        isText = encoding.isEmpty
        switch (text, encoding.lowercased()) {
        case (nil, _): data = nil
        case (let text?, ""): data = Data(text.utf8)
        case (let text?, "base64"):
            guard let bytes = Data(archivedBase64: text) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .text, in: container, debugDescription: "the text is not Base64")
            }
            data = bytes
        case (_?, let other):
            throw DecodingError.dataCorruptedError(
                forKey: .encoding, in: container, debugDescription: "\(other) is an unknown encoding")
        }
    }

    /// The content of a request; some archives have a form's content only as parameters.
    var sentData: Data? {
        if let data { return data }
        guard let params, !params.isEmpty, mimeType?.lowercased().contains("x-www-form-urlencoded") == true
        else { return nil }
        let pairs = params.map { FormPairs.encoded($0.name) + "=" + FormPairs.encoded($0.value ?? "") }
        return Data(pairs.joined(separator: "&").utf8)
    }
}

/// A message of a WebSocket, as Chrome writes it.
struct ArchivedMessage: Decodable, Sendable {
    enum Content: Sendable, Equatable {
        case message(WebSocketMessage)
        case close
        /// The connection failed.
        case failure(String)
        /// A ping or a pong.
        case control
    }

    /// Whether the client sent the message.
    let isSent: Bool
    let content: Content

    private enum CodingKeys: String, CodingKey {
        case type, opcode, data
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let type = try container.decode(String.self, forKey: .type)
        let data = try container.decodeIfPresent(String.self, forKey: .data) ?? ""
        isSent = type == "send" || type == "request"
        guard type != "error" else {
            content = .failure(data)
            return
        }
        // The opcodes of RFC 6455 §5.2; Chrome writes binary messages in Base64.
        switch try container.decodeIfPresent(Int.self, forKey: .opcode) ?? 1 {
        case 1: content = .message(.text(data))
        case 2:
            guard let bytes = Data(archivedBase64: data) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .data, in: container, debugDescription: "a binary message is not Base64")
            }
            content = .message(.binary(bytes))
        case 8: content = .close
        case 9, 10: content = .control
        case let other:
            throw DecodingError.dataCorruptedError(
                forKey: .opcode, in: container, debugDescription: "\(other) is no opcode of a message")
        }
    }
}

extension Data {
    /// Decodes Base64, also with line breaks, which some writers insert.
    fileprivate init?(archivedBase64 text: String) {
        if let data = Data(base64Encoded: text) {
            self = data
            return
        }
        let bare = text.filter { !$0.isWhitespace }
        guard let data = Data(base64Encoded: bare) else { return nil }
        self = data
    }
}
