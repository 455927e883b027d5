// The boundaries of frames in received bytes.

/// Limits how many received bytes wslay gets at once: at most the rest of one header or of one payload (RFC 6455 §5.2).
///
/// wslay checks the reason of a close frame for UTF-8 piece by piece, and skips the first two bytes of each piece, as
/// if they were the code. So it may refuse a valid reason, or accept an invalid one. To prevent this, the payload of a
/// close frame is held back until it is complete.
/// is kept until it is whole.
struct FrameBoundary {
    private enum Part {
        /// `count` bytes of the header's first two have arrived.
        case start(count: Int)
        /// `rest` bytes of the extended length and the mask are still to come.
        case further(rest: Int)
        case payload(rest: UInt64)
    }

    private var part = Part.start(count: 0)
    private var first: UInt8 = 0
    private var length: UInt64 = 0
    private var maskByteCount = 0

    private static let close: UInt8 = 8
    private static let longestControlPayload: UInt64 = 125

    private var opcode: UInt8 { first & 0x0F }

    /// The header of a data frame if its payload comes next; otherwise `nil`.
    var dataFrameHead: (isContinuation: Bool, isCompressed: Bool, byteCount: UInt64)? {
        guard case .payload(let rest) = part, rest == length, opcode & 8 == 0 else { return nil }
        return (opcode == 0, first & 0x40 != 0, length)
    }

    /// True if the payload of an unmasked close frame comes next.
    var isBeforeClosePayload: Bool {
        guard case .payload(let rest) = part else { return false }
        return rest == length && opcode == Self.close && maskByteCount == 0
    }

    /// True between two frames.
    var isBetweenFrames: Bool { if case .start(count: 0) = part { true } else { false } }

    /// Returns how many of the available bytes wslay may get; 0 to wait for more.
    func allowance(_ byteCount: Int) -> Int {
        switch part {
        case .start(let count): return min(byteCount, 2 - count)
        case .further(let rest): return min(byteCount, rest)
        case .payload(let rest):
            let isWhole = UInt64(byteCount) >= rest
            if opcode == Self.close, rest <= Self.longestControlPayload, !isWhole { return 0 }
            return isWhole ? Int(rest) : byteCount
        }
    }

    /// Records bytes that wslay got; there must be no more of them than `allowance(_:)` returned.
    mutating func gave(_ bytes: UnsafeRawBufferPointer) {
        switch part {
        case .start(let count):
            if count == 0, let first = bytes.first { self.first = first }
            part = .start(count: count + bytes.count)
            if count + bytes.count == 2, let second = bytes.last { lengthBegins(second) }
        case .further(let rest):
            // The mask follows the length; no server may send one, and wslay refuses it.
            for byte in bytes.prefix(max(0, rest - maskByteCount)) { length = length << 8 | UInt64(byte) }
            part = .further(rest: rest - bytes.count)
            if rest == bytes.count { payloadBegins() }
        case .payload(let rest):
            part = .payload(rest: rest - UInt64(bytes.count))
            if rest == UInt64(bytes.count) { part = .start(count: 0) }
        }
    }

    private mutating func lengthBegins(_ byte: UInt8) {
        maskByteCount = byte & 0x80 == 0 ? 0 : 4
        length = 0
        let lengthByteCount: Int
        switch byte & 0x7F {
        case 126: lengthByteCount = 2
        case 127: lengthByteCount = 8
        default:
            lengthByteCount = 0
            length = UInt64(byte & 0x7F)
        }
        let rest = lengthByteCount + maskByteCount
        if rest > 0 { part = .further(rest: rest) } else { payloadBegins() }
    }

    private mutating func payloadBegins() {
        part = length > 0 ? .payload(rest: length) : .start(count: 0)
    }
}
