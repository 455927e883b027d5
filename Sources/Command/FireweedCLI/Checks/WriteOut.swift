// The line of `--write-out`; pure.

import CommandLanguage
import Foundation

/// Fills a format of curl's (curl(1), `--write-out`).
struct WriteOut {
    /// Names and values: texts, numbers and, for `header`, a function.
    var values: [(name: String, value: JSONNode)]
    /// The values of a field of this name, in their order.
    var fields: (String) -> [String]

    /// The text of a format: `%{name}`, `%header{name}`, `%{json}`, `%%`, and `\n`, `\t`, `\r`, `\\`.
    ///
    /// A name that is not known stays as it is written, so that it is seen.
    func text(_ format: String) -> String {
        var text = ""
        var rest = format[...]
        while let character = rest.first {
            if character == "\\", rest.count > 1 {
                let escapes: [Character: String] = ["n": "\n", "t": "\t", "r": "\r", "\\": "\\"]
                let next = rest[rest.index(after: rest.startIndex)]
                text += escapes[next] ?? "\\\(next)"
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix("%%") {
                text += "%"
                rest = rest.dropFirst(2)
            } else if let (value, length) = variable(rest) {
                text += value
                rest = rest.dropFirst(length)
            } else {
                text.append(character)
                rest = rest.dropFirst()
            }
        }
        return text
    }

    private func variable(_ rest: Substring) -> (text: String, length: Int)? {
        for (prefix, isField) in [("%{", false), ("%header{", true)] where rest.hasPrefix(prefix) {
            guard let end = rest.firstIndex(of: "}") else { return nil }
            let name = String(rest[rest.index(rest.startIndex, offsetBy: prefix.count)..<end])
            let length = rest.distance(from: rest.startIndex, to: end) + 1
            if isField { return (fields(name).joined(separator: ", "), length) }
            if name == "json" { return (json, length) }
            return values.first { $0.name == name }.map { ($0.value.plainText, length) }
        }
        return nil
    }

    private var json: String {
        JSONNode.object(values.map { JSONNode.Member(name: JSONEscapes.escaped($0.name), value: $0.value) }).text
    }
}
