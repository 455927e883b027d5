// The value of curl's `-F`.

import Foundation

/// A value of `-F`: `name=content`, `name=@file` or `name=<file`; `;type=…` and `;filename=…` may follow.
struct CURLFormField: Equatable {
    enum Source: Equatable {
        case text(String)
        /// A file that is sent with a file name.
        case file(path: String)
        /// A file whose content is sent as text.
        case textOfFile(path: String)
    }

    let name: String
    var source: Source
    var type: String?
    var fileName: String?

    /// Makes a field with a literal value, as `--form-string` does; `nil` without a name.
    init?(literally text: String) {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else { return nil }
        name = String(text[..<equals])
        source = .text(String(text[text.index(after: equals)...]))
    }

    /// Reads a value of `-F`; `nil` for a value without a name, values that curl warns about, several files in one
    /// field, nested multiparts, and headers and encoders of parts.
    init?(_ text: String) {
        guard let literal = CURLFormField(literally: text), case .text(let value) = literal.source else { return nil }
        self = literal
        var rest = Substring(value)
        let mark = rest.first.flatMap { "@<(".contains($0) ? $0 : nil }
        if mark != nil { rest = rest.dropFirst() }
        let content = Self.word(&rest)
        switch mark {
        case "@": source = .file(path: content)
        case "<": source = .textOfFile(path: content)
        case "(": return nil
        default: source = .text(content)
        }
        if mark == "@", content.contains(",") { return nil }  // several files in one field
        guard readParameters(&rest) else { return nil }
    }

    /// Reads `;type=…` and `;filename=…`; any other parameter after a type belongs to that media type.
    private mutating func readParameters(_ rest: inout Substring) -> Bool {
        var followsType = false
        while rest.popFirst() == ";" {
            rest = rest.drop { $0 == " " }
            if rest.hasPrefix("type=") {
                rest = rest.dropFirst("type=".count)
                type = Self.word(&rest)
                followsType = true
            } else if rest.hasPrefix("filename=") {
                rest = rest.dropFirst("filename=".count)
                fileName = Self.word(&rest)
                followsType = false
            } else if followsType {
                type = "\(type ?? "");\(Self.word(&rest))"
            } else {
                return false
            }
        }
        return rest.isEmpty
    }
    private static func word(_ rest: inout Substring) -> String { CURLFormText.word(&rest, endingAt: ";").text }
}

/// The words in a value of curl's `-F`.
package enum CURLFormText {
    /// Takes a word that ends before a character of `ends`, or a word in double quotes.
    ///
    /// In quotes, a backslash escapes a quote or a backslash.
    package static func word(
        _ rest: inout Substring, endingAt ends: String
    ) -> (text: String, isQuoted: Bool) {
        guard rest.first == "\"", let end = closingQuote(in: rest) else {
            let word = rest.prefix { !ends.contains($0) }
            rest = rest[word.endIndex...]
            return (String(word), false)
        }
        var word = ""
        var isEscaped = false
        for character in rest[..<end].dropFirst() {
            if character == "\\", !isEscaped {
                isEscaped = true
                continue
            }
            if isEscaped, character != "\"", character != "\\" { word.append("\\") }
            word.append(character)
            isEscaped = false
        }
        rest = rest[rest.index(after: end)...].drop { $0 == " " }
        return (word, true)
    }

    private static func closingQuote(in text: Substring) -> Substring.Index? {
        var isEscaped = false
        for index in text.indices.dropFirst() {
            if isEscaped {
                isEscaped = false
            } else if text[index] == "\\" {
                isEscaped = true
            } else if text[index] == "\"" {
                return index
            }
        }
        return nil
    }
}
