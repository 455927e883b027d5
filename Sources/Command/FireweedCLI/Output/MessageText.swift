// Requests and responses as readable text.

import Fireweed
import Foundation

/// Formats messages as they are on the wire, with colours if `appearance` has them.
struct MessageText {
    let appearance: Appearance

    /// Formats a head: its first line, its fields in their order or sorted, and the empty line.
    func head(_ bytes: [UInt8]) -> TerminalText {
        var lines = Self.lines(of: bytes)
        guard !lines.isEmpty else { return "" }
        let first = lines.removeFirst()
        let words = first.split(separator: " ", maxSplits: 1).map(String.init)
        // The HTTP version is plain text in a response and in a request.
        let isResponse = first.hasPrefix("HTTP/")
        let start: TerminalText
        if isResponse, words.count == 2 {
            start = "\(words[0]) \(bold("\(words[1])"))"
        } else if let space = first.lastIndex(of: " "), !isResponse {
            start = "\(bold("\(first[..<space])"))\(first[space...])"
        } else {
            start = "\(first)"
        }
        return "\(start)\n" + fields(lines) + "\n"
    }

    /// Formats lines of fields, from a head or from trailers.
    func fields(_ lines: [String]) -> TerminalText {
        let sorted = appearance.isSorted ? lines.sorted { $0.lowercased() < $1.lowercased() } : lines
        return sorted.map { line -> TerminalText in
            guard let colon = line.firstIndex(of: ":") else { return "\(line)\n" }
            return "\(name(String(line[..<colon])))\(line[colon...])\n"
        }.joined()
    }

    /// Returns the lines without their line ends, and without empty lines; a line that is not UTF-8 is read as
    /// ISO-8859-1, the historical charset (RFC 9110 §5.5).
    static func lines(of bytes: [UInt8]) -> [String] {
        bytes.split(separator: 0x0A).map { line in
            let line = line.last == 0x0D ? line.dropLast() : line
            let text =
                String(validating: line, as: UTF8.self)
                ?? String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) }))
            return text.hasSuffix(" ") ? String(text.dropLast()) : text
        }.filter { !$0.isEmpty }
    }

    /// Makes a head for a response that had no head on the wire, such as a response from the cache.
    func head(of response: HTTPURLResponse) -> TerminalText {
        let phrase = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
        let fields = response.headers.sorted().map { field($0.name, $0.value) }.joined()
        return "HTTP/1.1 \(bold("\(response.statusCode) \(phrase)"))\n\(fields)\n"
    }

    /// Returns the heads of all requests and responses of a task, including redirects and challenges.
    ///
    /// `omitted` has the names, in lower case, of fields that the transport does not add to the requests.
    func heads(of metrics: TaskMetrics, omitting omitted: Set<String>) -> TerminalText {
        metrics.transactionMetrics.map { exchange in
            let head = head(Self.head(of: exchange.request, omitting: omitted))
            guard let response = exchange.response else { return head }
            let lines = [UInt8](exchange.responseHeadData ?? Data())
            // Over HTTP/2 there is no status line.
            return head + (lines.starts(with: "HTTP/".utf8) ? self.head(lines) : self.head(of: response))
        }.joined()
    }

    /// Makes the head of a request in the form of HTTP/1.1.
    private static func head(of request: URLRequest, omitting omitted: Set<String>) -> [UInt8] {
        guard let url = request.url, let target = try? RequestTarget(url.absoluteString) else { return [] }
        var lines = ["\(request.method?.rawValue ?? "GET") \(target.originForm) HTTP/1.1"]
        // A `URLRequest` lacks the fields that the transport adds.
        for (name, value) in [("Host", target.authority), ("Accept", "*/*")]
        where request.headers[name] == nil && !omitted.contains(name.lowercased()) {
            lines.append("\(name): \(value)")
        }
        lines += request.headers.map { "\($0.name): \($0.value)" }
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// Returns content as text: JSON, markup and programs formatted if wanted, other text unchanged, other bytes as a
    /// note.
    ///
    /// Text is read in `charset`; `nil` takes the charset that the content or its type names.
    func content(_ data: Data, type: String?, charset: String? = nil) -> TerminalText {
        guard !data.isEmpty else { return "" }
        guard let text = Self.text(data, type: type, charset: charset) else {
            return "(\(data.count) bytes that are not text; use -o FILE, --download or a pipe)\n"
        }
        let shown = shown(text, type: type)
        return shown.text.hasSuffix("\n") ? shown : shown + "\n"
    }

    /// Returns text of a media type, laid out and coloured as `appearance` says.
    private func shown(_ text: String, type: String?) -> TerminalText {
        if let language = CodeLanguage(type: type) { return appearance.coloured(text, in: language) }
        if type?.contains("json") == true || text.hasPrefix("{") || text.hasPrefix("[") { return json(text) }
        return markup(text, type: type) ?? TerminalText(foreign: text)
    }

    /// Whether text of a media type is shown only when it is complete, since it gets a layout or colours.
    func needsWhole(_ type: String?) -> Bool {
        Self.isMarkup(type) || appearance.isColoured && CodeLanguage(type: type) != nil
    }

    /// Whether a media type is for XML or HTML.
    private static func isMarkup(_ type: String?) -> Bool {
        guard let essence = type?.prefix(while: { $0 != ";" }).lowercased() else { return false }
        return essence.contains("html") || essence.hasSuffix("/xml") || essence.hasSuffix("+xml")
    }

    /// Returns XML or HTML, laid out and coloured as `appearance` says; `nil` for text that is not markup.
    private func markup(_ text: String, type: String?) -> TerminalText? {
        guard Self.isMarkup(type), appearance.isFormatted || appearance.isColoured else { return nil }
        let isHTML = type?.lowercased().contains("text/html") == true
        return MarkupFormatter(appearance: appearance, isHTML: isHTML).formatted(text)
    }

    /// Returns JSON, indented and coloured as `appearance` says; text that is not JSON is unchanged.
    func json(_ text: String) -> TerminalText {
        guard appearance.isFormatted || appearance.isColoured,
            let formatted = JSONFormatter(appearance: appearance).formatted(text)
        else { return TerminalText(foreign: text) }
        return formatted
    }

    /// Decodes content as text; `nil` if it contains a NUL character, which text does not have.
    static func text(_ data: Data, type: String?, charset: String?) -> String? {
        let name = charset ?? CharacterSetDecoder.name(of: data, type: type)
        guard let decoder = CharacterSetDecoder(name) ?? CharacterSetDecoder("UTF-8") else { return nil }
        let text = decoder.append(data) + decoder.finish()
        guard !text.unicodeScalars.contains("\0") else { return nil }
        return text.hasPrefix("\u{FEFF}") ? String(text.unicodeScalars.dropFirst()) : text
    }

    /// Formats a server-sent event for a terminal: field names are coloured, and JSON in the only `data` line is
    /// indented.
    func event(_ block: [UInt8]) -> TerminalText {
        let lines = String(decoding: block, as: UTF8.self).split { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
        guard !lines.isEmpty else { return "" }
        let isAlone = lines.count { $0.hasPrefix("data") } == 1
        let shown = lines.map { line -> TerminalText in
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard halves.count == 2, !halves[0].isEmpty else { return "\(line)\n" }
            let value = halves[1].hasPrefix(" ") ? String(halves[1].dropFirst()) : halves[1]
            let looksLikeJSON = halves[0] == "data" && isAlone && (value.hasPrefix("{") || value.hasPrefix("["))
            guard looksLikeJSON, let json = JSONFormatter(appearance: appearance).formatted(value) else {
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
        appearance.coloured("\(name)", .fieldName)
    }

    private func bold(_ text: TerminalText) -> TerminalText {
        appearance.coloured(text, .statusLine)
    }
}
