// Escapes with backslashes in bash's `$'…'`.

/// Bash's `$'…'`, which browsers write when a value has line breaks or other control characters.
enum ANSIQuotedText {
    /// Reads from after the opening quote through the closing quote.
    static func read(_ bytes: [UInt8], _ position: inout Int) throws -> [UInt8] {
        var result: [UInt8] = []
        var highSurrogate: UInt32?
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "'") { return result }
            guard byte == UInt8(ascii: "\\"), position < bytes.count else {
                result.append(byte)
                continue
            }
            guard let unit = unicodeEscape(bytes, &position) else {
                result += Escapes.read(bytes, &position)
                continue
            }
            // Browsers write UTF-16 code units: two of them can be one character.
            if (0xD800..<0xDC00).contains(unit) {
                highSurrogate = unit
            } else {
                let value = highSurrogate.map { 0x10000 + ($0 - 0xD800) << 10 + (unit &- 0xDC00) } ?? unit
                let scalar = UnicodeScalar(value) ?? "\u{FFFD}"
                result += Array(String(scalar).utf8)
                highSurrogate = nil
            }
        }
        throw CURLParsingError.unbalancedQuote("'")
    }

    /// Reads `\uHHHH` or `\UHHHHHHHH`, from after the backslash; `nil` for another escape.
    private static func unicodeEscape(_ bytes: [UInt8], _ position: inout Int) -> UInt32? {
        let limit: Int
        switch bytes[position] {
        case UInt8(ascii: "u"): limit = 4
        case UInt8(ascii: "U"): limit = 8
        default: return nil
        }
        var end = position + 1
        guard let value = Escapes.number(bytes, &end, radix: 16, limit: limit) else { return nil }
        position = end
        return value
    }
}

/// The escapes of one byte.
private enum Escapes {
    /// Reads one escape, from after its backslash; an unknown escape keeps the backslash.
    static func read(_ bytes: [UInt8], _ position: inout Int) -> [UInt8] {
        let byte = bytes[position]
        var end = position
        if let value = number(bytes, &end, radix: 8, limit: 3) {
            position = end
            return [UInt8(truncatingIfNeeded: value)]
        }
        position += 1
        switch byte {
        case UInt8(ascii: "a"): return [0x07]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "e"), UInt8(ascii: "E"): return [0x1B]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "v"): return [0x0B]
        case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "?"): return [byte]
        case UInt8(ascii: "x"):
            guard let value = number(bytes, &position, radix: 16, limit: 2) else { return Array("\\x".utf8) }
            return [UInt8(truncatingIfNeeded: value)]
        case UInt8(ascii: "c") where position < bytes.count:
            position += 1
            return [bytes[position - 1] & 0x1F]
        default: return [UInt8(ascii: "\\"), byte]
        }
    }

    /// Reads one to `limit` digits; `nil` when there is none.
    static func number(_ bytes: [UInt8], _ position: inout Int, radix: UInt32, limit: Int) -> UInt32? {
        var value: UInt32?
        var count = 0
        while count < limit, position < bytes.count,
            let digit = Character(UnicodeScalar(bytes[position])).hexDigitValue.map(UInt32.init), digit < radix
        {
            value = (value ?? 0) &* radix &+ digit
            position += 1
            count += 1
        }
        return value
    }
}
