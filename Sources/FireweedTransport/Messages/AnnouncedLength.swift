// The length that a response announces.

/// The values of the `Content-Length` fields of one head (RFC 9110 §8.6).
///
/// A list of equal numbers means one such number (RFC 9112 §6.3, item 5). Anything else is unsound: a recipient that
/// continues might take one response's content for the next response's head.
struct AnnouncedLength {
    /// The length; `nil` if none was announced, or if the announced ones are unsound.
    private(set) var byteCount: Int64?
    /// False if a value is not a number of at most 18 digits, or if two values differ, even if only in leading zeros.
    private(set) var isSound = true
    private var digitCount = 0

    /// Adds the value of one field.
    mutating func note(_ value: UnsafeRawBufferPointer) {
        var position = 0
        while isSound {
            position = noteNumber(in: value, from: position)
            // A comma separates the numbers.
            guard position < value.count else { return }
            position += 1
        }
    }

    /// Reads one number and the white space around it; returns the offset at which that ends.
    private mutating func noteNumber(in value: UnsafeRawBufferPointer, from start: Int) -> Int {
        var position = start
        while position < value.count, value[position].isFieldSpace { position += 1 }
        let digits = position
        var number: Int64 = 0
        while position < value.count, (0x30...0x39).contains(value[position]), position - digits < 18 {
            number = number &* 10 &+ Int64(value[position] &- 0x30)
            position += 1
        }
        let count = position - digits
        while position < value.count, value[position].isFieldSpace { position += 1 }
        let isNumber = count > 0 && (position == value.count || value[position] == 0x2C)
        let isSame = byteCount.map { $0 == number && digitCount == count } ?? true
        if isNumber, isSame {
            (byteCount, digitCount) = (number, count)
        } else {
            (byteCount, isSound) = (nil, false)
        }
        return position
    }
}

extension UInt8 {
    /// True for the white space inside a field line (RFC 9110 §5.6.3).
    var isFieldSpace: Bool { self == 0x20 || self == 0x09 }

    /// True for a byte that a token can contain (RFC 9110 §5.6.2).
    var isTokenByte: Bool {
        // Letters are tested first, since they are most bytes of most names.
        if (self | 0x20) &- 0x61 < 26 { return true }
        // One bit for each ASCII character: digits and !#$%&'*+-.  and ^_`|~
        let bits: UInt64 = self < 64 ? 0x03FF_6CFA_0000_0000 : 0x5000_0001_C000_0000
        return self < 128 && bits >> UInt64(self & 63) & 1 == 1
    }
}
