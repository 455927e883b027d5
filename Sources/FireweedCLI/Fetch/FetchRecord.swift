// What is said of a request that was made: one line of JSON; pure.

import CommandLanguage
import Fireweed
import Foundation

/// The record of an item.
struct FetchRecord: Sendable {
    let item: FetchItem
    var status: Int?
    var attemptCount = 0
    var metrics: TaskMetrics?
    var contentType: String?
    /// Where redirects have led; `nil` without any.
    var finalURL: URL?
    /// The content, where it goes into the record.
    var content: Data?
    /// How many bytes the content has.
    var byteCount: Int64?
    /// The file that has the content.
    var file: String?
    var error: String?

    init(_ item: FetchItem) { self.item = item }

    /// The line, without its end.
    ///
    /// The item's number and key come first: `FetchJournal` reads them there.
    var text: String {
        var members: [(String, JSONNode)] = []
        func add(_ name: String, _ value: JSONNode?) { if let value { members.append((name, value)) } }
        func number(_ value: some BinaryInteger) -> JSONNode { .literal("\(value)") }
        switch item.request {
        case .success(let request):
            add("id", request.id)
            add("url", JSONNode(text: request.url.absoluteString))
            add("method", JSONNode(text: request.method.rawValue))
        case .failure: add("line", JSONNode(text: item.text))
        }
        add("status", status.map(number))
        add("error", error.map(JSONNode.init(text:)))
        add("final_url", finalURL.map { JSONNode(text: $0.absoluteString) })
        add("attempts", attemptCount > 0 ? number(attemptCount) : nil)
        add("seconds", seconds)
        add("content_type", contentType.map(JSONNode.init(text:)))
        add("bytes", byteCount.map(number))
        add("file", file.map(JSONNode.init(text:)))
        if let content {
            if let text = String(validating: content, as: UTF8.self) {
                add("body", JSONNode(text: text))
            } else {
                add("body_base64", .string(content.base64EncodedString()))
            }
        }
        let rest = members.map { ", \"\($0.0)\": \($0.1.text)" }.joined()
        return "\(FetchJournal.head(index: item.index, key: item.key))\(rest)}"
    }

    /// How long the request took, and its last exchange: until there was a connection, and until the response came.
    private var seconds: JSONNode? {
        guard let metrics else { return nil }
        let last = metrics.transactionMetrics.last
        func span(_ start: Date?, _ end: Date?) -> JSONNode? {
            guard let start, let end else { return nil }
            return .literal(String(format: "%.6f", max(0, end.timeIntervalSince(start))))
        }
        let total = JSONNode.literal(String(format: "%.6f", metrics.taskInterval.duration))
        let rows = [
            ("total", total), ("connect", span(last?.connectStartDate, last?.connectEndDate)),
            ("first_byte", span(last?.requestStartDate, last?.responseStartDate)),
        ]
        return .object(rows.compactMap { row in row.1.map { JSONNode.Member(name: row.0, value: $0) } })
    }
}
