// Requests and responses for people.

import Fireweed
import Foundation

/// Writes messages as they stand on the wire, with colours where they are wanted.
struct MessageText {
    let isColoured: Bool

    func head(of request: URLRequest) -> TerminalText {
        let url = request.url
        var target = url?.path.isEmpty == false ? url?.path ?? "/" : "/"
        if let query = url?.query { target += "?\(query)" }
        let host = url?.host.map { "\($0)\(url?.port.map { ":\($0)" } ?? "")" } ?? ""
        let first: TerminalText = "\(bold("\(request.httpMethod ?? "GET") \(target)")) HTTP/1.1\n"
        return first + field("Host", host) + request.headers.map { field($0.name, $0.value) }.joined() + "\n"
    }

    func head(of response: HTTPURLResponse, protocolName: String?) -> TerminalText {
        let version = protocolName == "h2" ? "HTTP/2" : "HTTP/1.1"
        let phrase = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
        let fields = response.headers.sorted().map { field($0.name, $0.value) }.joined()
        return "\(version) \(bold("\(response.statusCode) \(phrase)"))\n\(fields)\n"
    }

    /// Content for a terminal: JSON indented, text as it is, anything else as a note.
    func content(_ data: Data, type: String?) -> TerminalText {
        guard !data.isEmpty else { return "" }
        guard let text = String(data: data, encoding: .utf8), !text.unicodeScalars.contains("\0") else {
            return "(\(data.count) bytes that are no text; use -o FILE, --download or a pipe)\n"
        }
        let looksLikeJSON = type?.contains("json") == true || text.hasPrefix("{") || text.hasPrefix("[")
        let formatted = looksLikeJSON ? JSONText(isColoured: isColoured).formatted(text) : nil
        let shown = formatted ?? TerminalText(foreign: text)
        return shown.text.hasSuffix("\n") ? shown : shown + "\n"
    }

    /// A server-sent event for a terminal: its lines with their field names apart, and a line of JSON data indented.
    func event(_ block: [UInt8]) -> TerminalText {
        let lines = String(decoding: block, as: UTF8.self).split { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
        guard !lines.isEmpty else { return "" }
        let isAlone = lines.count { $0.hasPrefix("data") } == 1
        let shown = lines.map { line -> TerminalText in
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard halves.count == 2, !halves[0].isEmpty else { return "\(line)\n" }
            let value = halves[1].hasPrefix(" ") ? String(halves[1].dropFirst()) : halves[1]
            let looksLikeJSON = halves[0] == "data" && isAlone && (value.hasPrefix("{") || value.hasPrefix("["))
            guard looksLikeJSON, let json = JSONText(isColoured: isColoured).formatted(value) else {
                return field(halves[0], value)
            }
            return "\(name("data")): \(json)\n"
        }
        return shown.joined() + "\n"
    }

    private func field(_ name: String, _ value: String) -> TerminalText {
        "\(self.name(name)): \(value)\n"
    }

    private func name(_ name: String) -> TerminalText {
        isColoured ? "\u{1B}[36m\(name)\u{1B}[0m" : "\(name)"
    }

    private func bold(_ text: TerminalText) -> TerminalText {
        isColoured ? "\u{1B}[1m\(text)\u{1B}[0m" : text
    }
}
