// Requests and responses for people.

import Fireweed
import Foundation

/// Writes messages as they stand on the wire, with colours where they are wanted.
struct MessageText {
    let isColoured: Bool

    func head(of request: URLRequest) -> String {
        let url = request.url
        var target = url?.path.isEmpty == false ? url?.path ?? "/" : "/"
        if let query = url?.query { target += "?\(query)" }
        let host = url?.host.map { "\($0)\(url?.port.map { ":\($0)" } ?? "")" } ?? ""
        let first = "\(bold("\(request.httpMethod ?? "GET") \(target)")) HTTP/1.1\n"
        return first + field("Host", host) + request.headers.map { field($0.name, $0.value) }.joined() + "\n"
    }

    func head(of response: HTTPURLResponse, protocolName: String?) -> String {
        let version = protocolName == "h2" ? "HTTP/2" : "HTTP/1.1"
        let phrase = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
        let fields = response.headers.sorted().map { field($0.name, $0.value) }.joined()
        return "\(version) \(bold("\(response.statusCode) \(phrase)"))\n\(fields)\n"
    }

    /// Content for a terminal: JSON indented, text as it is, anything else as a note.
    func content(_ data: Data, type: String?) -> String {
        guard !data.isEmpty else { return "" }
        guard let text = String(data: data, encoding: .utf8), !text.unicodeScalars.contains("\0") else {
            return "(\(data.count) bytes that are no text; use -o FILE, --download or a pipe)\n"
        }
        let looksLikeJSON = type?.contains("json") == true || text.hasPrefix("{") || text.hasPrefix("[")
        let formatted = looksLikeJSON ? JSONText(isColoured: isColoured).formatted(text) : nil
        let shown = formatted ?? Self.withoutControls(text)
        return shown.hasSuffix("\n") ? shown : shown + "\n"
    }

    /// A server-sent event for a terminal: its lines with their field names apart, and a line of JSON data indented.
    func event(_ block: [UInt8]) -> String {
        let lines = String(decoding: block, as: UTF8.self).split { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
        guard !lines.isEmpty else { return "" }
        let isAlone = lines.count { $0.hasPrefix("data") } == 1
        let shown = lines.map { line -> String in
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard halves.count == 2, !halves[0].isEmpty else { return Self.withoutControls(String(line)) + "\n" }
            let value = halves[1].hasPrefix(" ") ? String(halves[1].dropFirst()) : halves[1]
            let looksLikeJSON = halves[0] == "data" && isAlone && (value.hasPrefix("{") || value.hasPrefix("["))
            guard looksLikeJSON, let json = JSONText(isColoured: isColoured).formatted(value) else {
                return field(Self.withoutControls(halves[0]), value)
            }
            return "\(isColoured ? "\u{1B}[36mdata\u{1B}[0m" : "data"): \(json)\n"
        }
        return shown.joined() + "\n"
    }

    /// A server must not steer the terminal.
    static func withoutControls(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter {
                    $0 == "\n" || $0 == "\t"
                        || $0.value >= 0x20 && $0.value != 0x7F && !(0x80..<0xA0).contains($0.value)
                }))
    }

    private func field(_ name: String, _ value: String) -> String {
        "\(isColoured ? "\u{1B}[36m\(name)\u{1B}[0m" : name): \(Self.withoutControls(value))\n"
    }

    private func bold(_ text: String) -> String {
        isColoured ? "\u{1B}[1m\(text)\u{1B}[0m" : text
    }
}
