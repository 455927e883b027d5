// Text descriptions of responses.

import Foundation
import FoundationNetworking

/// A result whose error is an ``AFError``.
public typealias AFResult<Success> = Result<Success, AFError>

/// The lines of a response's debug description, as Alamofire writes them.
enum ResponseText {
    /// The text of a response for logs.
    ///
    /// `content` is the content in memory, or `nil` for a download, whose `file` lines describe its file instead.
    static func describe(
        _ context: any ResponseContext, content: Data??, file: [String] = [], serializationDuration: TimeInterval,
        result: String
    ) -> String {
        guard let request = context.request else { return "[Request]: None\n[Result]: \(result)" }
        var lines = ["[Request]: \(request.httpMethod ?? "GET") \(request.url?.absoluteString ?? "None")"]
        lines += indented(headers(request.headers)) + indented(body(request.httpBody, request.headers))
        if let response = context.response {
            lines += ["[Response]:", "    [Status Code]: \(response.statusCode)"] + indented(headers(response.headers))
            if let content { lines += indented(body(content, response.headers)) }
        } else {
            lines.append("[Response]: None")
        }
        lines += file
        lines.append("[Network Duration]: \(context.metrics.map { "\($0.taskInterval.duration)s" } ?? "None")")
        lines.append("[Serialization Duration]: \(serializationDuration)s")
        lines.append("[Result]: \(result)")
        return lines.joined(separator: "\n")
    }

    private static func headers(_ headers: HTTPHeaders) -> [String] {
        headers.isEmpty ? ["[Headers]: None"] : ["[Headers]:"] + indented(headers.sorted().map { "\($0)" })
    }

    /// The content when it has a text type and at most 100,000 bytes, else its length.
    private static func body(_ data: Data?, _ headers: HTTPHeaders) -> [String] {
        guard let data, !data.isEmpty else { return ["[Body]: None"] }
        let type = headers["Content-Type"] ?? ""
        guard data.count <= 100_000, ["json", "xml", "text"].contains(where: type.contains) else {
            return ["[Body]: \(data.count) bytes"]
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return ["[Body]:"] + indented(text.components(separatedBy: "\n"))
    }

    private static func indented(_ lines: [String]) -> [String] {
        lines.map { "    \($0)" }
    }
}
