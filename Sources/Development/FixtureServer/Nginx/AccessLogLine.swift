// A line of nginx's access log.

import Foundation

/// One exchange in nginx's access log.
public struct AccessLogLine: Sendable {
    /// The status.
    public let status: Int
    /// The number of bytes of content that nginx sent.
    public let bodyByteCount: Int
    /// The `Range` field of the request; `nil` when it had none.
    public let range: String?
    /// The method.
    public let method: String

    static let format = #"log_format fireweed '$status $body_bytes_sent $request_method "$http_range"';"#

    /// The offset of the first byte that the request asked for; 0 without a first byte in `range`.
    public var firstByte: Int {
        range.flatMap { Int($0.drop { $0 != "=" }.dropFirst().prefix { $0 != "-" }) } ?? 0
    }

    static func lines(of file: URL) -> [AccessLogLine] {
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 3)
            guard words.count == 4, let status = Int(words[0]), let count = Int(words[1]) else { return nil }
            let range = words[3].trimmingCharacters(in: CharacterSet(charactersIn: "\""))
            return AccessLogLine(
                status: status, bodyByteCount: count, range: range == "-" ? nil : range, method: String(words[2]))
        }
    }
}
