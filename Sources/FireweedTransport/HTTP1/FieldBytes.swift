// Byte scans for the readers of heads.

import Glibc

/// Functions that the readers of start lines and field lines share.
enum FieldBytes {
    /// The result of looking for the end of a line.
    enum LineEnd {
        /// The next line begins at this offset.
        case next(Int)
        /// More bytes are needed.
        case incomplete
        /// The line cannot end like this.
        case fault(String)
    }

    /// Returns the offset of the first CR, LF or NUL, which a field value cannot contain (RFC 9110 §5.5); `end` if
    /// there is none.
    ///
    /// Tests eight bytes at once for a byte below 0x20, since most text has none.
    static func endOfText(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var index = start
        while index &+ 8 <= end {
            let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            // The lowest bit that is set marks the first byte below 0x20; higher bits can be wrong, because of borrows.
            let controls = (word &- 0x2020_2020_2020_2020) & ~word & 0x8080_8080_8080_8080
            guard controls != 0 else {
                index &+= 8
                continue
            }
            index &+= controls.trailingZeroBitCount >> 3
            if isEndOfText(base.byte(index)) { return index }
            index &+= 1
        }
        while index < end, !isEndOfText(base.byte(index)) { index &+= 1 }
        return index
    }

    private static func isEndOfText(_ byte: UInt8) -> Bool {
        byte == 0x0D || byte == 0x0A || byte == 0
    }

    /// Examines the CR, LF or NUL at `index`, where the text of a line stops: returns where the next line begins, that
    /// more bytes are needed, or a fault.
    ///
    /// A fault is reported only once the line's LF has arrived.
    static func lineEnd(at index: Int, in bytes: UnsafeRawBufferPointer, acceptsBareLineFeed: Bool) -> LineEnd {
        switch bytes[index] {
        case 0x0D where index + 1 == bytes.count: return .incomplete
        case 0x0D where bytes[index + 1] == 0x0A: return .next(index + 2)
        case 0x0A where acceptsBareLineFeed: return .next(index + 1)
        case 0x0A: return .fault("the response ends a line of its chunked coding with LF alone (RFC 9112 §7.1)")
        case let byte:
            guard hasLineFeed(bytes, from: index) else { return .incomplete }
            return byte == 0
                ? .fault("the response has a NUL in its head (RFC 9110 §5.5)")
                : .fault("the response has a CR in its head that no LF follows (RFC 9112 §2.2)")
        }
    }

    static func hasLineFeed(_ bytes: UnsafeRawBufferPointer, from index: Int) -> Bool {
        lineFeed(in: bytes, from: index) != nil
    }

    /// Returns the offset of the first LF at or after `index`; `nil` if there is none.
    static func lineFeed(in bytes: UnsafeRawBufferPointer, from index: Int = 0) -> Int? {
        guard let base = bytes.baseAddress, index < bytes.count else { return nil }
        return memchr(base + index, 0x0A, bytes.count - index).map { UnsafeRawPointer($0) - base }
    }

    /// Returns at most 40 received bytes for an error text: printable ASCII as is, every other byte as a dot.
    static func excerpt(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> String {
        String(decoding: bytes[start..<min(end, start + 40)].map { 0x20...0x7E ~= $0 ? $0 : 0x2E }, as: UTF8.self)
    }
}

extension UnsafeRawPointer {
    /// The byte at an offset.
    func byte(_ offset: Int) -> UInt8 { load(fromByteOffset: offset, as: UInt8.self) }
}
