// An exchange as an HTTP archive has it.

import Fireweed
import Foundation

/// One entry of an archive (HAR 1.2), with what the writers of such files add or leave out.
struct ArchivedExchange: Decodable, Sendable {
    struct Archive: Decodable {
        let log: Log
    }

    struct Log: Decodable {
        let entries: [ArchivedExchange]
    }

    struct Pair: Decodable, Sendable {
        let name: String
        let value: String
    }

    struct Request: Decodable, Sendable {
        let method: String
        let url: String
        let postData: Content?
    }

    struct Response: Decodable, Sendable {
        let status: Int
        let headers: [Pair]?
        let content: Content?
    }

    /// Content of a request or a response: `base64` in `encoding`, or in the key that our recorder writes for requests.
    struct Content: Decodable, Sendable {
        let mimeType: String?
        let text: String?
        let encoding: String?
        let _encoding: String?  // swift-format-ignore: NoLeadingUnderscores

        var data: Data? {
            guard let text else { return nil }
            return (encoding ?? _encoding) == "base64" ? Data(base64Encoded: text) : Data(text.utf8)
        }
    }

    /// A message of a WebSocket, as Chrome writes them.
    struct SocketMessage: Decodable, Sendable {
        let type: String
        let opcode: Int
        let data: String
    }

    /// What tells exchanges apart.
    struct Key: Hashable {
        let method: String
        let url: String
        let body: Data?
        let isWebSocket: Bool
    }

    let startedDateTime: String?
    let request: Request
    let response: Response
    let _webSocketMessages: [SocketMessage]?  // swift-format-ignore: NoLeadingUnderscores
    let _error: String?  // swift-format-ignore: NoLeadingUnderscores

    var key: Key {
        Key(
            method: request.method, url: request.url, body: request.postData?.data,
            isWebSocket: _webSocketMessages != nil)
    }

    /// A stub that answers with exchanges of one key, one after the other.
    static func stub(of key: Key, _ entries: [ArchivedExchange]) -> Stub {
        if key.isWebSocket, let messages = entries.first?._webSocketMessages {
            return .webSocket(URLPattern(exactly: key.url), script: { try await play(messages, on: $0) })
        }
        var matchers = [RequestMatcher.exactQuery(of: key.url)]
        if let body = key.body { matchers.append(.sameContent(as: body)) }
        return Stub(HTTPMethod(rawValue: key.method), URLPattern(exactly: key.url), matchers)
            .reply(responses: entries.map(\.answer)).optional()
    }

    /// The response; the content has no coding any more, so that fields about it are left out.
    private var answer: MockResponse {
        // Browsers write status 0 for an exchange without a response.
        guard response.status >= 100 else { return .failure(URLError(.networkConnectionLost)) }
        let left: Set = [
            "content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive",
        ]
        var answer = MockResponse(status: response.status, body: response.content?.data ?? Data())
        for field in response.headers ?? []
        where !left.contains(field.name.lowercased()) && !field.name.hasPrefix(":") {
            answer = answer.header(field.name, field.value)
        }
        return answer
    }

    /// Sends what the server sent, and waits for a message of the client where it sent one.
    private static func play(_ messages: [SocketMessage], on socket: MockWebSocket) async throws {
        for message in messages {
            guard message.type == "receive" else {
                _ = try await socket.receive()
                continue
            }
            if message.opcode == 2 {
                socket.send(Data(base64Encoded: message.data) ?? Data(message.data.utf8))
            } else {
                socket.send(message.data)
            }
        }
    }
}

extension RequestMatcher {
    /// The query is that of a URL, item for item, in any order.
    fileprivate static func exactQuery(of url: String) -> RequestMatcher {
        let expected = TargetText(url).queryItems.map { "\($0.name)=\($0.value ?? "")" }.sorted()
        return RequestMatcher("query \(expected.joined(separator: "&"))") { request in
            let found = request.queryItems.map { "\($0.name)=\($0.value ?? "")" }.sorted()
            guard found != expected else { return [] }
            return [
                "query: expected \(expected.joined(separator: "&")), got \(found.joined(separator: "&"))"
            ]
        }
    }

    /// The content is the same: as JSON where both are, else byte by byte.
    fileprivate static func sameContent(as body: Data) -> RequestMatcher {
        if let json = try? JSONValue(parsing: body) { return .json(json) }
        return .body(body)
    }
}
