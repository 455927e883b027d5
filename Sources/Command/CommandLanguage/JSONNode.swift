// A JSON tree that keeps the written form of numbers and strings.

/// A JSON value (RFC 8259): members in their order, numbers and strings as they were written.
package indirect enum JSONNode: Equatable, Sendable {
    /// A number, `true`, `false` or `null`, as written.
    case literal(String)
    /// A string between its quotes, with its escapes.
    case string(String)
    case array([JSONNode])
    case object([Member])

    /// A name, with its escapes as in `string`, and its value.
    package struct Member: Equatable, Sendable {
        package var name: String
        package var value: JSONNode

        /// Makes a member; `name` has its escapes.
        package init(name: String, value: JSONNode) {
            self.name = name
            self.value = value
        }
    }

    package static let null = JSONNode.literal("null")

    /// A string value of plain text.
    package init(text: String) {
        self = .string(JSONEscapes.escaped(text))
    }

    /// The JSON type of the value.
    package var typeName: String {
        switch self {
        case .literal("true"), .literal("false"): "a boolean"
        case .literal("null"): "null"
        case .literal: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Returns the value of a member; of duplicate members the last one, as most JSON parsers do.
    package func member(_ name: String) -> JSONNode? {
        guard case .object(let members) = self else { return nil }
        return members.last { JSONEscapes.unescaped($0.name) == name }?.value
    }

    /// The text on one line, with a space after each comma and colon.
    package var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .literal(let word): text += word
        case .string(let string): text += "\"\(string)\""
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ", " }
                element.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += ", " }
                text += "\"\(member.name)\": "
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    /// The same value with the members of every object in the order of their names.
    package var sorted: JSONNode {
        switch self {
        case .literal, .string: self
        case .array(let elements): .array(elements.map(\.sorted))
        case .object(let members):
            .object(members.map { Member(name: $0.name, value: $0.value.sorted) }.sorted { $0.name < $1.name })
        }
    }
}

/// The escapes of JSON strings (RFC 8259 §7).
package enum JSONEscapes {
    /// Escapes plain text for use between quotes.
    package static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: isEscaped) else { return text }
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends plain text, escaped, in UTF-8.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { text in
            var rest = text[...]
            while let index = rest.firstIndex(where: isEscaped) {
                bytes.append(contentsOf: rest[..<index])
                appendEscape(of: rest[index], to: &bytes)
                rest = rest[(index + 1)...]
            }
            bytes.append(contentsOf: rest)
        }
    }

    private static func isEscaped(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x22 || byte == 0x5C }

    private static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case 0x22: bytes.append(contentsOf: "\\\"".utf8)
        case 0x5C: bytes.append(contentsOf: "\\\\".utf8)
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        default:
            let digits = String(byte, radix: 16)
            bytes.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u00").utf8)
            bytes.append(contentsOf: digits.utf8)
        }
    }

    /// Returns the plain text of an escaped string; an unpaired surrogate becomes U+FFFD.
    package static func unescaped(_ string: String) -> String {
        guard string.utf8.contains(UInt8(ascii: "\\")) else { return string }
        var units: [UInt16] = []
        var rest = Array(string.utf16)[...]
        while let unit = rest.popFirst() {
            guard unit == UInt16(UInt8(ascii: "\\")), let kind = rest.popFirst() else {
                units.append(unit)
                continue
            }
            switch Character(Unicode.Scalar(UInt8(truncatingIfNeeded: kind))) {
            case "n": units.append(0x0A)
            case "r": units.append(0x0D)
            case "t": units.append(0x09)
            case "b": units.append(0x08)
            case "f": units.append(0x0C)
            case "u":
                units.append(UInt16(String(decoding: rest.prefix(4), as: UTF16.self), radix: 16) ?? 0xFFFD)
                rest = rest.dropFirst(4)
            default: units.append(kind)
            }
        }
        return String(decoding: units, as: UTF16.self)
    }
}
