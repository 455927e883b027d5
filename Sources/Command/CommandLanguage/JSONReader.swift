// A strict reader of JSON.

/// The reason why a text is not JSON, and its position.
package struct JSONReadingError: Error, Equatable {
    package let message: String
    /// The position of the error, in bytes of UTF-8.
    package let offset: Int
}

/// Reads a text by the grammar of RFC 8259; nothing else is accepted.
package struct JSONReader {
    private static let maximumDepth = 512

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    private init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// Parses a text that is one JSON value; throws `JSONReadingError`.
    package static func read(_ text: String) throws -> JSONNode {
        var reader = JSONReader(text)
        reader.skipSpace()
        let value = try reader.value()
        reader.skipSpace()
        guard reader.position == reader.bytes.count else { throw reader.error("nothing may follow the value") }
        return value
    }

    /// Parses values on separate lines, as in NDJSON; `nil` when a part is not JSON, or two values share a line.
    package static func sequence(_ text: String) -> [JSONNode]? {
        var reader = JSONReader(text)
        var values: [JSONNode] = []
        reader.skipSpace()
        while reader.position < reader.bytes.count {
            // Each value after the first one must begin on a new line.
            if !values.isEmpty, !reader.bytes[..<reader.position].hasLineBreakAtEnd { return nil }
            guard let value = try? reader.value() else { return nil }
            values.append(value)
            reader.skipSpace()
        }
        return values
    }

    private func error(_ message: String) -> JSONReadingError {
        JSONReadingError(message: message, offset: position)
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func value() throws -> JSONNode {
        guard position < bytes.count else { throw error("a value is missing") }
        switch bytes[position] {
        case UInt8(ascii: "{"): return try nested { try $0.object() }
        case UInt8(ascii: "["): return try nested { try $0.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), 0x30...0x39: return .literal(try number())
        default:
            for word in ["true", "false", "null"] where bytes[position...].starts(with: word.utf8) {
                position += word.utf8.count
                return .literal(word)
            }
            throw error("a value is expected")
        }
    }

    private mutating func nested(_ read: (inout JSONReader) throws -> JSONNode) throws -> JSONNode {
        depth += 1
        guard depth <= Self.maximumDepth else { throw error("values are nested more than \(Self.maximumDepth) deep") }
        position += 1
        let node = try read(&self)
        depth -= 1
        return node
    }

    private mutating func object() throws -> JSONNode {
        var members: [JSONNode.Member] = []
        skipSpace()
        if take("}") { return .object([]) }
        repeat {
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                throw error("a name in quotes is expected")
            }
            let name = try string()
            skipSpace()
            guard take(":") else { throw error("\":\" is expected") }
            skipSpace()
            members.append(JSONNode.Member(name: name, value: try value()))
            skipSpace()
        } while take(",")
        guard take("}") else { throw error("\",\" or \"}\" is expected") }
        return .object(members)
    }

    private mutating func array() throws -> JSONNode {
        var elements: [JSONNode] = []
        skipSpace()
        if take("]") { return .array([]) }
        repeat {
            skipSpace()
            elements.append(try value())
            skipSpace()
        } while take(",")
        guard take("]") else { throw error("\",\" or \"]\" is expected") }
        return .array(elements)
    }

    /// Takes a string, and returns the text between the quotes, with its escapes.
    private mutating func string() throws -> String {
        position += 1
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return String(decoding: bytes[start..<position - 1], as: UTF8.self)
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw error("a control character has to be escaped")
            default: position += 1
            }
        }
        throw error("the closing quote is missing")
    }

    private mutating func escape() throws {
        position += 1
        guard position < bytes.count, "\"\\/bfnrtu".utf8.contains(bytes[position]) else {
            throw error("no such escape")
        }
        let isUnicode = bytes[position] == UInt8(ascii: "u")
        position += 1
        guard isUnicode else { return }
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy(\.isHexadecimalDigit) else {
            throw error("four hexadecimal digits are expected")
        }
        position += 4
    }

    private mutating func number() throws -> String {
        let start = position
        _ = take("-")
        guard position < bytes.count, (0x30...0x39).contains(bytes[position]) else {
            throw error("a digit is expected")
        }
        if !take("0") { digits() }
        if take(".") { try someDigits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try someDigits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func someDigits() throws {
        let start = position
        digits()
        guard position > start else { throw error("a digit is expected") }
    }

    private mutating func digits() {
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
    }
}

extension ArraySlice<UInt8> {
    /// Whether a line break is in the white space at the end.
    fileprivate var hasLineBreakAtEnd: Bool {
        for byte in reversed() {
            if byte == 0x0A || byte == 0x0D { return true }
            if byte != 0x20, byte != 0x09 { return false }
        }
        return false
    }
}
