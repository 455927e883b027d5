// The values of numbers.

import Foundation

extension Document {
    /// Reads an integer that is written without a fraction or an exponent.
    func integer<Value: FixedWidthInteger>(_ type: Value.Type, _ place: Int) throws -> Value {
        let word = word(place)
        guard word.kind == Word.Kind.integer else { throw refusal() }
        var digits = bytes(word)[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        guard digits.count <= 19, !isNegative || Value.isSigned else { throw refusal() }
        // A number of 19 digits is less than 2⁶⁴.
        var magnitude: UInt64 = 0
        for digit in digits { magnitude = magnitude &* 10 &+ UInt64(digit &- UInt8(ascii: "0")) }
        let value = isNegative ? Value(exactly: -Int128(magnitude)) : Value(exactly: magnitude)
        guard let value else { throw refusal() }
        return value
    }

    /// Reads a number that is neither too great nor too small for the type; other numbers are refused.
    func floatingPoint<Value: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: Value.Type, _ place: Int
    ) throws -> Value {
        let word = word(place)
        guard word.kind == Word.Kind.integer || word.kind == Word.Kind.number else { throw refusal() }
        let bytes = bytes(word)
        if let value = Decimal10(bytes).exact(as: type) {
            // Foundation fails for some forms of negative zero, such as `-0.0e1`, so every form longer than `-0` is
            // left to Foundation.
            if value == 0, word.count > 2, bytes[0] == UInt8(ascii: "-") { throw refusal() }
            return value
        }
        guard let value = Value(String(decoding: bytes, as: UTF8.self)), value.isNormal else { throw refusal() }
        return value
    }
}

extension Document {
    /// Reads a number of at most 38 characters, since a `Decimal` holds 38 digits.
    func decimal(_ place: Int) throws -> Decimal {
        let word = word(place)
        guard word.kind == Word.Kind.integer || word.kind == Word.Kind.number, word.count <= 38,
            let value = Decimal(string: String(decoding: bytes(word), as: UTF8.self), locale: nil)
        else { throw refusal() }
        return value
    }
}

/// A number as digits and a power of ten.
private struct Decimal10 {
    private var isNegative = false
    private var digits: UInt64 = 0
    private var exponent = 0
    /// Whether `digits` and `exponent` represent the number completely.
    private var isWhole = true

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        var (place, count) = (0, 0)
        if bytes.first == UInt8(ascii: "-") { (isNegative, place) = (true, 1) }
        var isFraction = false
        scan: while place < bytes.count {
            let byte = bytes[place]
            place += 1
            switch byte {
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): break scan
            default:
                if count > 0 || byte != UInt8(ascii: "0") { count += 1 }
                digits = digits &* 10 &+ UInt64(byte &- UInt8(ascii: "0"))
                if isFraction { exponent -= 1 }
            }
        }
        isWhole = count <= 19
        guard place < bytes.count else { return }
        let isSmall = bytes[place] == UInt8(ascii: "-")
        if isSmall || bytes[place] == UInt8(ascii: "+") { place += 1 }
        var power = 0
        for digit in bytes[place...] {
            power = power * 10 + Int(digit - UInt8(ascii: "0"))
            guard power < 10_000 else {
                isWhole = false
                return
            }
        }
        exponent += isSmall ? -power : power
    }

    private static let powers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// Returns the value if digits and power are exact in the type, so that the single operation rounds correctly;
    /// otherwise `nil`.
    func exact<Value: BinaryFloatingPoint>(as type: Value.Type) -> Value? {
        let (bits, longest) = type == Float.self ? (24, 10) : (53, 22)
        if isWhole, digits == 0 { return isNegative ? -0.0 : 0 }
        guard isWhole, digits <= 1 << bits, abs(exponent) <= longest else { return nil }
        let (digits, power) = (Value(digits), Value(Self.powers[abs(exponent)]))
        let value = exponent < 0 ? digits / power : digits * power
        return isNegative ? -value : value
    }
}
