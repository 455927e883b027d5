// The archive that a recording transport writes.

import Fireweed
import Foundation
import Synchronization

/// Collects exchanges, and makes the entries of an archive from them.
final class ArchiveBuilder: Sendable {
    private let redaction: Redaction
    private let exchanges = Mutex<[ObservedExchange]>([])

    init(redaction: Redaction) {
        self.redaction = redaction
    }

    /// Returns the entries of an archive, with all their members unchanged.
    static func entries(of har: Data) throws -> [JSONValue] {
        guard case .array(let entries)? = try JSONValue(parsing: har.withoutByteOrderMark)["log"]?["entries"] else {
            throw RecordingError("This is no HTTP archive (HAR), at log.entries: an array is missing")
        }
        return entries
    }

    func add(_ exchange: ObservedExchange) { exchanges.withLock { $0.append(exchange) } }

    var count: Int { exchanges.withLock { $0.count } }

    /// Returns an entry for each exchange except the `droppedCount` that ended first, in the order in which they began.
    func entries(droppingFirst droppedCount: Int = 0) -> [JSONValue] {
        let exchanges = exchanges.withLock { $0.dropFirst(droppedCount) }
        // Sorting is stable, so exchanges that began at the same time stay in the order in which they ended.
        return exchanges.sorted { $0.startDate < $1.startDate }.map { entry(of: $0) }
    }

    /// Returns the JSON of an archive with these entries.
    static func archive(of entries: [JSONValue]) throws -> Data {
        let archive: JSONValue = [
            "log": [
                "version": "1.2",
                "creator": ["name": "Fireweed", "version": .string(AFInfo.version)],
                "entries": .array(entries),
            ]
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(archive)
    }

    // MARK: Entries

    private func entry(of exchange: ObservedExchange) -> JSONValue {
        let report = exchange.report
        let milliseconds = { (microseconds: Int64) in JSONValue.number(Double(max(0, microseconds)) / 1000) }
        var entry: [String: JSONValue] = [
            "startedDateTime": .string(
                exchange.startDate.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))),
            "time": milliseconds(report.total),
            "request": request(of: exchange),
            "response": response(of: exchange),
            "cache": [:],
            "timings": [
                "send": 0, "wait": milliseconds(report.responseStart),
                "receive": milliseconds(report.total - report.responseStart),
            ],
        ]
        if exchange.isWebSocket {
            entry["_resourceType"] = "websocket"
            entry["_webSocketMessages"] = .array(exchange.messages.map { message(of: $0) })
        } else if let failure = exchange.failure, exchange.head != nil {
            let isLeft = if case .cancelled = failure { true } else { false }
            entry["_ending"] = .string((isLeft ? ArchivedExchange.Termination.left : .lost).rawValue)
        }
        if let failure = exchange.failure {
            entry["_error"] = .string(failure.urlError(failingURL: "").localizedDescription)
        }
        return .object(entry)
    }

    private func request(of exchange: ObservedExchange) -> JSONValue {
        let url = redaction.text(ofURL: exchange.url)
        let items = TargetText(url).queryItems.map { pair($0.name, $0.value ?? "") }
        var request: [String: JSONValue] = [
            "method": .string(exchange.method), "url": .string(url),
            "httpVersion": .string(version(of: exchange)), "cookies": [], "headers": headers(exchange.fields),
            "queryString": .array(items), "headersSize": -1, "bodySize": .integer(Int64(exchange.body.count)),
        ]
        let type = value("Content-Type", of: exchange.fields)
        if !exchange.body.isEmpty, let clean = sentContent(exchange.body, type) {
            var postData: [String: JSONValue] = ["mimeType": .string(type ?? "application/octet-stream")]
            if let text = String(data: clean, encoding: .utf8) {
                postData["text"] = .string(text)
            } else {
                postData["text"] = .string(clean.base64EncodedString())
                postData["_encoding"] = "base64"
            }
            request["postData"] = .object(postData)
        }
        return .object(request)
    }

    private func response(of exchange: ObservedExchange) -> JSONValue {
        let head = exchange.head
        let fields = head?.fields ?? []
        let type = value("Content-Type", of: fields)
        let clean = receivedContent(exchange.content, type)
        var content: [String: JSONValue] = [
            "size": .integer(Int64(clean?.count ?? exchange.content.count)), "mimeType": .string(type ?? ""),
        ]
        if clean == nil {
            content["comment"] = "The content is left out: secrets could not be looked for in it."
        } else if let clean, let text = text(of: clean, type) {
            content["text"] = .string(text)
        } else if let clean {
            content["text"] = .string(clean.base64EncodedString())
            content["encoding"] = "base64"
        }
        let location = value("Location", of: fields) ?? ""
        return [
            "status": .integer(Int64(head?.status ?? 0)),
            "statusText": .string(
                head.map { $0.reason ?? HTTPURLResponse.localizedString(forStatusCode: $0.status) } ?? ""),
            "httpVersion": .string(version(of: exchange)), "cookies": [], "headers": headers(fields),
            "content": .object(content), "redirectURL": .string(redaction.value(location, ofField: "Location")),
            "headersSize": -1, "bodySize": .integer(head == nil ? -1 : exchange.report.responseBodyByteCount),
        ]
    }

    private func message(of message: ObservedExchange.Message) -> JSONValue {
        var entry: [String: JSONValue] = [
            "type": message.isSent ? "send" : "receive", "time": .number(message.date.timeIntervalSince1970),
        ]
        switch message.message {
        case .text(let text):
            entry["opcode"] = 1
            entry["data"] = .string(String(decoding: messageContent(Data(text.utf8)), as: UTF8.self))
        case .binary(let data):
            entry["opcode"] = 2
            entry["data"] = .string(messageContent(data).base64EncodedString())
        }
        return .object(entry)
    }

    // MARK: Content

    /// Returns the content without secrets; `nil` when it cannot be searched for secrets.
    private func sentContent(_ content: Data, _ type: String?) -> Data? {
        let clean = redaction.content(content, type: type)
        return clean == Data(Redaction.mark.utf8) && clean != content ? nil : clean
    }

    /// Returns a response's content without secrets; `nil` when its type requires a search, but it cannot be searched.
    ///
    /// Content of other types is searched only when it is JSON.
    private func receivedContent(_ content: Data, _ type: String?) -> Data? {
        // An SVG image is not searched as XML: an image that cannot be searched would be left out of the archive.
        let isDrawing = (type ?? "").lowercased().hasPrefix("image/")
        return Redaction.isSearched(type: type) && !isDrawing ? sentContent(content, type) : messageContent(content)
    }

    /// Returns JSON without secrets, and other content unchanged; no type is needed, since WebSocket messages have
    /// none.
    private func messageContent(_ content: Data) -> Data {
        guard (try? JSONValue(parsing: content)) != nil else { return content }
        return redaction.content(content, type: "application/json")
    }

    /// Returns the content as UTF-8 text; `nil` when it must be written in Base64, since it is not UTF-8 or its type
    /// names another charset.
    private func text(of content: Data, _ type: String?) -> String? {
        let type = (type ?? "").lowercased()
        let isOther = type.contains("charset=") && !type.contains("utf-8") && !content.allSatisfy { $0 < 0x80 }
        return isOther ? nil : String(data: content, encoding: .utf8)
    }

    // MARK: Parts

    private func headers(_ fields: [Field]) -> JSONValue {
        .array(fields.map { pair($0.name, redaction.value($0.value, ofField: $0.name)) })
    }

    private func pair(_ name: String, _ value: String) -> JSONValue {
        ["name": .string(name), "value": .string(value)]
    }

    private func value(_ name: String, of fields: [Field]) -> String? {
        fields.first { $0.name.isEqualIgnoringASCIICase(name) }?.value
    }

    private func version(of exchange: ObservedExchange) -> String {
        exchange.report.protocolName == "h2" ? "HTTP/2" : exchange.head?.version ?? "HTTP/1.1"
    }
}
