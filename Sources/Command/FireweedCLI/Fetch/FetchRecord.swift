// The record of a request: one line of JSON; pure.

import CommandLanguage
import Fireweed
import Foundation

/// The record of an item.
struct FetchRecord: Sendable {
    let item: FetchItem
    var status: Int?
    var attemptCount = 0
    var metrics: TaskMetrics?
    /// The time of all attempts.
    var seconds: TimeInterval?
    var contentType: String?
    /// The URL after redirects; `nil` without redirects.
    var finalURL: URL?
    /// The content, if it goes into the record.
    var content: Data?
    /// The part of the content that `--select` asks for, as JSON.
    private(set) var selection: String?
    /// The number of bytes of the content.
    var byteCount: Int64?
    /// The file that has the content.
    var file: String?
    var error: String?

    init(_ item: FetchItem) { self.item = item }

    /// Selects the values at a path of the content: one value is stored as it is, unless the path has `[]`; others as
    /// an array.
    mutating func select(_ path: ValuePath, from content: Data) {
        do {
            let text = MessageText.text(content, type: contentType, charset: nil) ?? ""
            let values = try path.selected(from: text)
            let isSeveral = values.count != 1 || path.steps.contains(.every)
            selection = (isSeveral ? .array(values) : values[0]).text
        } catch {
            self.error = error.plainText
        }
    }

    /// The record's line, with its line break.
    ///
    /// The item's number and key come first: `FetchJournal` reads them there.
    var line: [UInt8] {
        var line = RecordLine(FetchJournal.head(index: item.index, key: item.key))
        switch item.request {
        case .success(let request):
            line.add("id", json: request.id?.text)
            line.add("url", request.url.absoluteString)
            line.add("method", request.method.rawValue)
        // A line that is not a request may have a password as URLs have it.
        case .failure: line.add("line", URLShorthand.withoutUserInfo(item.text).url)
        }
        line.add("status", json: status.map { String($0) })
        line.add("error", error)
        line.add("final_url", finalURL?.absoluteString)
        line.add("attempts", json: attemptCount > 0 ? String(attemptCount) : nil)
        if let metrics { addSeconds(metrics, to: &line) }
        line.add("content_type", contentType)
        line.add("bytes", json: byteCount.map { String($0) })
        line.add("file", file)
        line.add("selected", json: selection)
        if let content {
            if let text = text(of: content) {
                line.add("body", text)
            } else {
                line.add("body_base64", content.base64EncodedString())
            }
        }
        line.end()
        return line.bytes
    }

    /// Returns content that is text in the character set that it declares, or in UTF-8; `nil` for other content.
    private func text(of content: Data) -> String? {
        if CharacterSetDecoder.name(of: content, type: contentType).uppercased() != "UTF-8",
            let text = MessageText.text(content, type: contentType, charset: nil), !text.contains("\u{FFFD}")
        {
            return text
        }
        return String(validating: content, as: UTF8.self)
    }

    /// Adds the time of all attempts and two times of the last exchange: to connect, and from the request to the
    /// response's first byte.
    private func addSeconds(_ metrics: TaskMetrics, to line: inout RecordLine) {
        let last = metrics.transactionMetrics.last
        func span(_ start: Date?, _ end: Date?) -> TimeInterval? {
            guard let start, let end else { return nil }
            return max(0, end.timeIntervalSince(start))
        }
        line.add("seconds", json: "{\"total\": ")
        line.append(seconds: seconds ?? metrics.taskInterval.duration)
        for (name, span) in [
            ("connect", span(last?.connectStartDate, last?.connectEndDate)),
            ("first_byte", span(last?.requestStartDate, last?.responseStartDate)),
        ] {
            guard let span else { continue }
            line.add(name, json: "")
            line.append(seconds: span)
        }
        line.end(with: "}")
    }
}

/// A JSON object that is written directly as bytes, since a list may have millions of records.
private struct RecordLine {
    private(set) var bytes: [UInt8]

    /// Makes a line that begins with these members, which are already encoded.
    init(_ beginning: String) {
        bytes = Array(beginning.utf8)
        bytes.reserveCapacity(512)
    }

    /// Adds a member with this JSON; `nil` adds nothing.
    mutating func add(_ name: String, json: String?) {
        guard let json else { return }
        bytes.append(contentsOf: ", \"".utf8)
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: "\": ".utf8)
        bytes.append(contentsOf: json.utf8)
    }

    /// Adds a member with this text; `nil` adds nothing.
    mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        add(name, json: "\"")
        JSONEscapes.append(text, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends seconds with six decimals, without `String(format:)`, which takes as long as making a request.
    mutating func append(seconds: TimeInterval) {
        let microseconds = Int64((seconds * 1e6).rounded())
        let digits = String(1_000_000 + microseconds % 1_000_000)
        bytes.append(contentsOf: String(microseconds / 1_000_000).utf8)
        bytes.append(UInt8(ascii: "."))
        bytes.append(contentsOf: digits.utf8.dropFirst())
    }

    mutating func end(with text: String = "}\n") {
        bytes.append(contentsOf: text.utf8)
        escapeControls()
    }

    /// Writes DEL and the C1 control characters as escapes: they can only be in strings, and could steer a terminal.
    private mutating func escapeControls() {
        func control(at index: Int) -> UInt8? {
            if bytes[index] == 0x7F { return 0x7F }
            guard bytes[index] == 0xC2, index + 1 < bytes.count, bytes[index + 1] < 0xA0 else { return nil }
            return bytes[index + 1]
        }
        guard bytes.indices.contains(where: { control(at: $0) != nil }) else { return }
        var escaped: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if let control = control(at: index) {
                escaped += Array("\\u00\(String(control, radix: 16))".utf8)
                index += control == 0x7F ? 1 : 2
            } else {
                escaped.append(bytes[index])
                index += 1
            }
        }
        bytes = escaped
    }
}
