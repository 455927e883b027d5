// The decoder of the chunked transfer coding.

/// Decodes the chunks up to the last chunk (RFC 9112 §7.1); the caller reads the trailer section that follows.
///
/// A chunk size consists of hexadecimal digits only, and every line ends in CRLF: attackers have used signs, `0x` and
/// single LFs to smuggle messages. White space after a size is accepted, because old servers pad their sizes. Chunk
/// extensions are skipped.
package struct ChunkedDecoder {
    package enum Event {
        /// All given bytes were read.
        case needsMore
        /// Bytes of content: a slice of the given bytes.
        case content(UnsafeRawBufferPointer)
        /// The last chunk's line ended; the trailer section follows.
        case lastChunk
    }

    private enum State {
        case size(digitCount: Int)
        case padding, extensions, sizeLineFeed
        case content, contentReturn, contentLineFeed
        case ended
    }

    private var state = State.size(digitCount: 0)
    /// The size so far while a size line is read; inside a chunk, the number of content bytes still to come.
    private var rest: Int64 = 0
    /// The bytes of chunk lines beyond the allowance, which is 16 bytes plus twice the content for each chunk.
    private var excess = 0
    private let framingLimit: Int
    /// The bytes of lines that each chunk is allowed, whatever its size.
    private static let freeByteCount = 16

    /// Makes a decoder for the content of one response.
    ///
    /// - Parameter framingLimit: the most bytes by which chunk lines may exceed the allowance of 16 bytes plus twice
    ///   the content for each chunk. It stops a server that sends endless extensions, or one-byte chunks with long
    ///   lines.
    package init(framingLimit: Int) {
        self.framingLimit = min(max(0, framingLimit), 1 << 40)
    }

    /// Reads from the front of `bytes` up to the next event, and removes the bytes that it read.
    package mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(TransferFailure) -> Event {
        guard let base = bytes.baseAddress else { return .needsMore }
        var index = 0
        defer { bytes = UnsafeRawBufferPointer(rebasing: bytes[index...]) }
        while index < bytes.count {
            switch state {
            case .content:
                let count = Int(min(rest, Int64(bytes.count - index)))
                rest -= Int64(count)
                if rest == 0 { state = .contentReturn }
                defer { index += count }
                return .content(UnsafeRawBufferPointer(start: base + index, count: count))
            case .extensions:
                let end = FieldBytes.endOfText(base, from: index, to: bytes.count)
                try count(end - index)
                index = end
                guard index < bytes.count else { break }
                guard base.byte(index) == 0x0D else {
                    throw .malformedChunk("a chunk extension has a NUL or a bare LF")
                }
                state = .sizeLineFeed
                index += 1
            case .ended: return .lastChunk
            case .size, .padding, .sizeLineFeed, .contentReturn, .contentLineFeed:
                let byte = base.byte(index)
                index += 1
                try take(byte)
                if case .ended = state { return .lastChunk }
            }
        }
        return .needsMore
    }

    /// Appends the content of all chunks in `bytes` to `content`; returns the failure that follows this content, if
    /// any.
    mutating func takeContent(_ bytes: inout UnsafeRawBufferPointer, into content: inout [UInt8]) -> TransferFailure? {
        do throws(TransferFailure) {
            // If the loop ends at the last chunk, the next call of `next` reports `.lastChunk` again.
            while case .content(let piece) = try next(&bytes) { content.append(contentsOf: piece) }
            return nil
        } catch {
            return error
        }
    }

    /// Handles one byte of a size line or of the CRLF after a chunk's content.
    private mutating func take(_ byte: UInt8) throws(TransferFailure) {
        try count(1)
        switch (state, byte) {
        case (.size(let count), _) where byte.hexadecimalDigit != nil:
            // 15 hexadecimal digits always fit into an `Int64`.
            guard count < 15, let digit = byte.hexadecimalDigit else {
                throw .malformedChunk("a chunk size is too large")
            }
            rest = rest << 4 | Int64(digit)
            state = .size(digitCount: count + 1)
        case (.size(0), _): throw .malformedChunk("a chunk has no size in hexadecimal digits")
        case (.size, 0x0D), (.padding, 0x0D): state = .sizeLineFeed
        case (.size, 0x3B), (.padding, 0x3B): state = .extensions
        case (.size, 0x20), (.size, 0x09), (.padding, 0x20), (.padding, 0x09): state = .padding
        case (.sizeLineFeed, 0x0A):
            state = rest == 0 ? .ended : .content
            excess = max(0, excess - Self.freeByteCount - 2 * Int(rest))
        case (.contentReturn, 0x0D): state = .contentLineFeed
        case (.contentLineFeed, 0x0A):
            state = .size(digitCount: 0)
            rest = 0
        case (.contentReturn, _), (.contentLineFeed, _): throw .malformedChunk("a chunk is longer than its size")
        case (.sizeLineFeed, _): throw .malformedChunk("a chunk size has a CR that no LF follows")
        case (.size, _), (.padding, _):
            throw .malformedChunk("a chunk size has a character that is no hexadecimal digit")
        case (.content, _), (.extensions, _), (.ended, _): break  // `next` handles these states.
        }
    }

    private mutating func count(_ byteCount: Int) throws(TransferFailure) {
        excess += byteCount
        if excess > framingLimit + Self.freeByteCount { throw .refused(.framingBytes(limit: framingLimit)) }
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit; `nil` for any other byte.
    fileprivate var hexadecimalDigit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
