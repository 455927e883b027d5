// The conversion of archived exchanges to stubs.

import Fireweed
import Foundation

extension ArchivedExchange {
    /// Makes a stub that answers with the exchanges of one key, one after the other.
    ///
    /// With `comparesContent`, the request's content must equal the archived content. `hosts` are the archive's hosts
    /// if requests may go to another server; with `nil`, origins are compared.
    static func stub(of entries: [ArchivedExchange], comparesContent: Bool, hosts: Set<String>?) -> Stub {
        let first = entries[0]
        var matchers = [RequestMatcher.archivedQuery(of: first.request.url)]
        if let hosts { matchers.append(.archivedHost(of: first.request.url, hosts)) }
        let pattern = URLPattern(exactly: first.request.url, anyOrigin: hosts != nil)
        if first.messages != nil {
            return Stub(.get, pattern, matchers).opening(entries.map { $0.webSocketAnswer(hosts: hosts) })
                .recorded(entries.count)
        }
        if comparesContent, let content = first.request.postData, let data = content.sentData {
            matchers.append(.archivedContent(data, type: content.mimeType ?? ""))
        }
        return Stub(HTTPMethod(rawValue: first.request.method), pattern, matchers)
            .reply(responses: entries.map { $0.answer(hosts: hosts) }).recorded(entries.count)
    }

    /// Returns the response to replay, without the fields about a content coding, since recorded content is decoded.
    ///
    /// A response to HEAD, a 204 and a 304 have no content (RFC 9110 §9.3.2, §15.3.5, §15.4.5). Content that an archive
    /// has for such a response was not on the wire, and is ignored: browsers write the content of their cache into a
    /// 304.
    func answer(hosts: Set<String>?) -> MockResponse {
        // Browsers write status 0 for an exchange without a response; a final status is from 200 to 999.
        guard let response, let status = response.status, (200...999).contains(status) else {
            return .failure(URLError(.networkConnectionLost))
        }
        var answer = MockResponse(status: status)
        let hasContent = answer.hasContent(for: HTTPMethod(rawValue: request.method))
        // Pieces have no known length, so no `Content-Length` is added for content that does not exist.
        answer.content = hasContent ? .data(response.content?.data ?? Data()) : .pieces([])
        // `Content-Length` and `Content-Encoding` of a response to HEAD or of a 304 are those of the GET (RFC 9110
        // §8.6) and stay; a 204 keeps neither.
        let keepsContentFields = !hasContent && status != 204
        for field in fields {
            let name = field.name.lowercased()
            guard !Self.connectionNames.contains(name) else { continue }
            if keepsContentFields || !Self.contentNames.contains(name) { answer.fields.append(field) }
        }
        if let hosts { answer.keepOnServer(hosts) }
        if response.content?.isText == true { answer.declareUTF8() }
        // The archive's writer has left the content out, so an empty response would differ from the recorded one.
        // Redirects may be empty, since browsers leave their content out.
        if hasContent, !(300...399).contains(status), let content = response.content, content.data == nil,
            content.byteCount ?? 0 > 0
        {
            return .failure(
                RecordingError(
                    "The archive has no content for \(request.method) \(request.url), which had "
                        + "\(content.byteCount ?? 0) bytes: record it with content."))
        }
        return switch ending {
        case nil: answer
        case .lost: answer.failing()
        case .left: answer.stalling()
        }
    }

    /// Names of fields that apply only to one connection (RFC 9110 §7.6.1), in lower case.
    private static let connectionNames: Set<String> = [
        "transfer-encoding", "connection", "keep-alive", "proxy-connection", "trailer", "upgrade",
    ]
    /// Names of fields that describe encoded content, in lower case.
    private static let contentNames: Set<String> = ["content-encoding", "content-length"]

    /// The response's fields, without HTTP/2's pseudo-header fields (RFC 9113 §8.3); each line of a value is a field.
    ///
    /// Browsers join fields of the same name by line feeds, mostly `Set-Cookie`.
    private var fields: [Field] {
        (response?.headers ?? []).flatMap { pair -> [Field] in
            guard !pair.name.isEmpty, pair.name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }) else {
                return []
            }
            let lines = (pair.value ?? "").unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            return lines.map { line in
                let text = String(String.UnicodeScalarView(line.filter { $0 != "\r" && $0 != "\0" }))
                return Field(name: pair.name, value: text.trimmingCharacters(in: .whitespaces))
            }
        }
    }

    // MARK: WebSockets

    /// Returns an answer that opens the WebSocket, or the response with which the recorded server refused it.
    private func webSocketAnswer(hosts: Set<String>?) -> MockResponse {
        let messages = messages ?? []
        // Some writers leave the status out. Over HTTP/2, the response that opens a WebSocket is a 200 (RFC 8441 §5).
        let isOpen = response?.status.map { (100...299).contains($0) } ?? true
        guard isOpen || !messages.isEmpty else { return answer(hosts: hosts) }
        return .webSocket { try await Self.play(messages, on: $0) }
    }

    /// Sends the recorded messages of the server, and expects the recorded messages of the client.
    private static func play(_ messages: [ArchivedMessage], on socket: MockWebSocket) async throws {
        for message in messages {
            switch (message.isSent, message.content) {
            case (true, .message(let expected)):
                let found = try await socket.receive()
                guard WebSocketDifference.areEqual(expected, found) else {
                    throw RecordingError(
                        "The WebSocket \(socket.request.urlText) was sent another message than was recorded: "
                            + "expected \(WebSocketDifference.text(of: expected)), "
                            + "got \(WebSocketDifference.text(of: found))")
                }
            case (false, .message(let message)): socket.send(message)
            case (false, .close): return
            case (_, .failure): throw URLError(.networkConnectionLost)
            case (true, .close), (_, .control): continue
            }
        }
    }
}

/// Compares messages of a WebSocket.
enum WebSocketDifference {
    /// Whether a message matches the recorded one; JSON is compared as JSON, where a redacted value matches any value.
    static func areEqual(_ recorded: WebSocketMessage, _ found: WebSocketMessage) -> Bool {
        if recorded == found { return true }
        let (recordedBytes, foundBytes): (Data, Data)
        switch (recorded, found) {
        case (.text(let recorded), .text(let found)):
            (recordedBytes, foundBytes) = (Data(recorded.utf8), Data(found.utf8))
        case (.binary(let recorded), .binary(let found)): (recordedBytes, foundBytes) = (recorded, found)
        case (.text, .binary), (.binary, .text): return false
        }
        guard let expected = try? JSONValue(parsing: recordedBytes), let actual = try? JSONValue(parsing: foundBytes)
        else { return false }
        return JSONDifference.lines(expected: expected, actual: actual, isPartial: false, wildcard: Redaction.mark)
            .isEmpty
    }

    static func text(of message: WebSocketMessage) -> String {
        switch message {
        case .text(let text): ContentText.excerpt(Data(text.utf8))
        case .binary(let data): "<\(data.count) bytes>"
        }
    }
}

extension MockResponse {
    /// Changes a `charset` to UTF-8: an archive has text in UTF-8, whatever the charset was on the wire.
    fileprivate mutating func declareUTF8() {
        guard case .data(let data) = content, !data.allSatisfy({ $0 < 0x80 }) else { return }
        for index in fields.indices where fields[index].name.isEqualIgnoringASCIICase("Content-Type") {
            let parameters = fields[index].value.components(separatedBy: ";")
            fields[index].value = parameters.map { parameter in
                parameter.trimmingCharacters(in: .whitespaces).lowercased().hasPrefix("charset=")
                    ? " charset=utf-8" : parameter
            }.joined(separator: ";")
        }
    }

    /// Makes redirects to recorded hosts relative, so that a client stays on the server that replays.
    fileprivate mutating func keepOnServer(_ hosts: Set<String>) {
        for index in fields.indices where fields[index].name.isEqualIgnoringASCIICase("Location") {
            let target = TargetText(fields[index].value)
            guard !target.scheme.isEmpty, hosts.contains(target.origin) else { continue }
            fields[index].value = target.path + (target.query.map { "?\($0)" } ?? "")
        }
    }
}
