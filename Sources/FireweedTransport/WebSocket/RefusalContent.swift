// The content of a refused handshake, which is skipped before the next try on the same connection.

/// Skips a response's content (RFC 9112 §6).
struct RefusalContent {
    enum Progress: Equatable {
        /// More bytes are needed.
        case more
        /// The content has ended, and `restCount` of the bytes follow it.
        case end(restCount: Int)
        /// The content is too long to skip, or its framing is invalid.
        case useless
    }

    private enum ParserState: Equatable {
        /// The number of content bytes still to come; for a chunk, this includes the CRLF at its end.
        case content(Int, isChunk: Bool)
        /// In the line with a chunk's size; the size so far, or `nil` before the first digit.
        case size(Int?)
        /// In the same line, after the digits; the size.
        case sizeEnd(Int)
        /// In the trailer section; whether the current line has no characters so far.
        case trailer(isEmpty: Bool)
        case over
    }

    private var place: ParserState
    private var byteCount = 0
    /// The most bytes to skip, more than any usual refusal has.
    private static let limit = 64 * 1024

    /// Makes a value for a response; `nil` if the connection cannot be reused.
    ///
    /// That is the case if the server wants to close the connection, if only its close ends the content, or if the
    /// transfer coding is unknown.
    init?(_ head: ResponseHead) {
        let connection = (head.value(of: "Connection") ?? "").lowercased()
        guard !connection.split(separator: ",").contains(where: { $0.filter { $0 != " " } == "close" }) else {
            return nil
        }
        if let coding = head.value(of: "Transfer-Encoding") {
            guard coding.isEqualIgnoringASCIICase("chunked") else { return nil }
            place = .size(nil)
        } else if let length = head.value(of: "Content-Length").flatMap({ Int($0) }), length >= 0 {
            place = length == 0 ? .over : .content(length, isChunk: false)
        } else {
            return nil
        }
    }

    /// Skips bytes of the content.
    mutating func skip(_ bytes: [UInt8]) -> Progress {
        var rest = bytes[...]
        while place != .over {
            guard byteCount <= Self.limit else { return .useless }
            if case .content(let left, let isChunk) = place {
                guard left <= Self.limit else { return .useless }
                let count = min(left, rest.count)
                rest = rest.dropFirst(count)
                byteCount += count
                place = count < left ? .content(left - count, isChunk: isChunk) : isChunk ? .size(nil) : .over
                if count < left { return .more }
            } else {
                guard let byte = rest.popFirst() else { return .more }
                byteCount += 1
                guard step(byte) else { return .useless }
            }
        }
        return .end(restCount: rest.count)
    }

    /// Reads one byte of a chunk's size line or of the trailers; returns false if the byte is not allowed there.
    private mutating func step(_ byte: UInt8) -> Bool {
        switch place {
        case .size(let size):
            if let digit = Character(UnicodeScalar(byte)).hexDigitValue {
                let next = (size ?? 0) * 16 + digit
                place = .size(next)
                return next <= Self.limit
            }
            guard let size, byte == 0x0D || byte == 0x3B || byte == 0x20 || byte == 0x0A else { return false }
            place = .sizeEnd(size)
            return byte == 0x0A ? step(byte) : true
        case .sizeEnd(let size):
            if byte == 0x0A { place = size == 0 ? .trailer(isEmpty: true) : .content(size + 2, isChunk: true) }
        case .trailer(let isEmpty):
            if byte == 0x0A {
                place = isEmpty ? .over : .trailer(isEmpty: true)
            } else if byte != 0x0D {
                place = .trailer(isEmpty: false)
            }
        case .content, .over: break  // these states are not read byte by byte
        }
        return true
    }
}
