// The parsing of a `Content-Disposition` field.

/// The file name in a `Content-Disposition` field (RFC 6266 §4).
///
/// The field is parsed byte by byte: in a Swift `Character`, a combining mark would hide a semicolon or a quote.
package struct ContentDisposition: Equatable, Sendable {
    /// The name from the server: it may be a path, have control characters, or be empty.
    ///
    /// `filename*` wins over `filename` if it can be decoded (§4.3); of several, the first counts.
    package let fileName: String?

    /// Reads a field's value.
    package init(_ text: String) {
        var scanner = ParameterScanner(Array(text.utf8))
        var plain: String?
        var extended: String?
        while let (name, value) = scanner.next() {
            switch name {
            case "filename": plain = plain ?? String(decoding: value, as: UTF8.self)
            case "filename*": extended = extended ?? Self.decoded(value)
            default: break
            }
        }
        fileName = extended ?? plain
    }

    /// Decodes `charset'language'percent-encoded` (RFC 8187 §3.2); `nil` for another charset, and for invalid escapes
    /// or bytes.
    private static func decoded(_ value: [UInt8]) -> String? {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = unescaped(parts[2]) else { return nil }
        switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(decoding: bytes.map(UInt16.init), as: UTF16.self)
        default: return nil
        }
    }

    private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46, 0x61...0x66: (byte | 0x20) - 0x57
        default: nil
        }
    }
}

/// Reads the parameters after the type, `name=token` or `name="quoted"`, one by one.
private struct ParameterScanner {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes.drop { $0 != UInt8(ascii: ";") }
    }

    /// The next parameter that has a value, with its name in lower case.
    mutating func next() -> (name: String, value: [UInt8])? {
        while !rest.isEmpty {
            rest = rest.drop { $0 == UInt8(ascii: ";") || Self.isSpace($0) }
            let name = rest.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }
            rest = rest[name.endIndex...]
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst().drop(while: Self.isSpace)
            let value = rest.first == UInt8(ascii: "\"") ? quoted() : token()
            return (String(decoding: Self.trimmed(name), as: UTF8.self).lowercased(), value)
        }
        return nil
    }

    private mutating func token() -> [UInt8] {
        let token = rest.prefix { $0 != UInt8(ascii: ";") }
        rest = rest[token.endIndex...]
        return Array(Self.trimmed(token))
    }

    /// A quoted string (RFC 9110 §5.6.4); without a closing quote, the rest of the field.
    private mutating func quoted() -> [UInt8] {
        var value: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        rest = rest.drop { $0 != UInt8(ascii: ";") }
        return value
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while let last = bytes.last, isSpace(last) { bytes = bytes.dropLast() }
        return bytes
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }
}
