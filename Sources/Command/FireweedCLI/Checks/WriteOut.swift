// The line of `--write-out`; pure.

import CommandLanguage
import Foundation

/// Fills in a format of `--write-out`, as in curl(1).
struct WriteOut {
    /// Names and values: texts and numbers.
    var values: [(name: String, value: JSONNode)]
    /// The names and values of the last response's fields, in their order.
    var fields: [(name: String, value: String)]
    /// Whether the exchange has failed.
    var isFailure = false

    /// The text for each of the two streams.
    struct Text: Equatable {
        var output = ""
        var errors = ""
    }

    /// The names of the variables that have a value; `json` prints all of them.
    static let names = [
        "content_type", "errormsg", "exitcode", "filename_effective", "http_code", "http_version", "local_ip",
        "local_port", "method", "num_connects", "num_headers", "num_redirects", "redirect_url", "referer", "remote_ip",
        "remote_port", "response_code", "scheme", "size_download", "size_header", "size_request", "size_upload",
        "speed_download", "speed_upload", "ssl_verify_result", "time_appconnect", "time_connect", "time_namelookup",
        "time_pretransfer", "time_redirect", "time_starttransfer", "time_total", "url", "url_effective",
    ]
    private static let otherNames = ["json", "header_json", "stdout", "stderr", "onerror"]

    /// Returns the first unknown name in a format; `nil` when every name is known.
    static func unknownName(in format: String) -> String? {
        pieces(of: format).lazy.compactMap { piece in
            guard case .variable(let name) = piece, !names.contains(name), !otherNames.contains(name) else {
                return nil
            }
            return name
        }.first
    }

    /// A part of a format.
    private enum Piece {
        case text(String)
        case variable(String)
        case field(String)
    }

    /// Splits a format at `%{name}`, `%header{name}`, `%%`, and `\n`, `\t`, `\r`, `\\`; everything else is literal.
    private static func pieces(of format: String) -> [Piece] {
        var pieces: [Piece] = []
        var rest = format[...]
        while let character = rest.first {
            if character == "\\", rest.count > 1 {
                let escapes: [Character: String] = ["n": "\n", "t": "\t", "r": "\r", "\\": "\\"]
                let next = rest[rest.index(after: rest.startIndex)]
                pieces.append(.text(escapes[next] ?? "\\\(next)"))
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix("%%") {
                pieces.append(.text("%"))
                rest = rest.dropFirst(2)
            } else if let (name, length) = braced(rest, behind: "%{") {
                pieces.append(.variable(name))
                rest = rest.dropFirst(length)
            } else if let (name, length) = braced(rest, behind: "%header{") {
                pieces.append(.field(name))
                rest = rest.dropFirst(length)
            } else {
                pieces.append(.text(String(character)))
                rest = rest.dropFirst()
            }
        }
        return pieces
    }

    private static func braced(_ rest: Substring, behind prefix: String) -> (name: String, length: Int)? {
        guard rest.hasPrefix(prefix), let end = rest.firstIndex(of: "}") else { return nil }
        let name = rest[rest.index(rest.startIndex, offsetBy: prefix.count)..<end]
        return (String(name), rest.distance(from: rest.startIndex, to: end) + 1)
    }

    /// Has the status of a 304 and no content, as curl says of a document that `-z` does not want.
    mutating func becomeNotModified() {
        for index in values.indices {
            switch values[index].name {
            case "http_code", "response_code": values[index].value = .literal("304")
            case "size_download": values[index].value = .literal("0")
            default: break
            }
        }
    }

    /// Fills in a format.
    func text(_ format: String) -> Text {
        var text = Text()
        var isForErrors = false
        for piece in Self.pieces(of: format) {
            let part: String
            switch piece {
            case .text(let own): part = own
            case .field(let name):
                part = fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value).joined(separator: ", ")
            case .variable("stdout"), .variable("stderr"):
                if case .variable(let name) = piece { isForErrors = name == "stderr" }
                continue
            case .variable("onerror"):
                guard isFailure else { return text }
                continue
            case .variable("json"): part = json
            case .variable("header_json"): part = fieldsAsJSON
            case .variable(let name):
                let value = values.first { $0.name == name }.map(\.value.plainText) ?? ""
                // A status has three digits: without a response it is 000, which scripts test for.
                part = ["http_code", "response_code"].contains(name) && value == "0" ? "000" : value
            }
            if isForErrors { text.errors += part } else { text.output += part }
        }
        return text
    }

    /// As in curl, texts that there are not are `null`.
    private var json: String {
        Self.object(
            values.map { name, value in
                (name, Self.nullable.contains(name) && value.plainText.isEmpty ? .literal("null") : value)
            })
    }

    private static let nullable: Set<String> = ["content_type", "errormsg", "redirect_url", "referer", "scheme"]

    /// A JSON object with an array of values for each field name in lower case.
    private var fieldsAsJSON: String {
        let groups = Dictionary(grouping: fields) { $0.name.lowercased() }
        return Self.object(
            groups.sorted { $0.key < $1.key }.map { ($0.key, .array($0.value.map { JSONNode(text: $0.value) })) })
    }

    private static func object(_ members: [(name: String, value: JSONNode)]) -> String {
        JSONNode.object(members.map { JSONNode.Member(name: JSONEscapes.escaped($0.name), value: $0.value) }).text
    }
}
