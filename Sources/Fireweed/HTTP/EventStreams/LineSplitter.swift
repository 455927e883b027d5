// The splitting of received bytes into lines; pure.

/// Splits bytes into lines; a line may extend over several pieces of content.
///
/// A byte order mark at the start of the content is dropped (WHATWG Encoding, "UTF-8 decode").
package struct LineSplitter: Sendable {
    /// The bytes that end a line.
    package enum Terminator: Sendable {
        /// LF only: in JSON Lines a CR is white space inside or at the end of a value (RFC 8259 §2).
        case lineFeed
        /// CR, LF, or CR followed by LF, which is one terminator.
        case any
    }

    private let terminator: Terminator
    private let maximumByteCount: Int
    private var bytes: [UInt8] = []
    /// The start of the present line, and the end of the bytes that were searched for a terminator.
    private var start = 0
    private var scanned = 0
    /// Whether the last line ended with a CR; an LF that follows belongs to that terminator.
    private var skipsLineFeed = false
    private var hasSeenStart = false

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let lineFeed: UInt8 = 0x0A
    private static let carriageReturn: UInt8 = 0x0D

    /// Makes a splitter for lines of at most `maximumByteCount` bytes, terminators not counted.
    package init(terminator: Terminator, maximumByteCount: Int) {
        self.terminator = terminator
        self.maximumByteCount = maximumByteCount
    }

    package mutating func append(_ piece: some Sequence<UInt8>) {
        if start > 0 {
            bytes.removeFirst(start)
            scanned -= start
            start = 0
        }
        bytes.append(contentsOf: piece)
    }

    /// The next line without its terminator; `nil` until more content comes.
    package mutating func next() throws(StreamedContentError) -> ArraySlice<UInt8>? {
        guard skipByteOrderMark() else { return nil }
        if skipsLineFeed, start < bytes.count {
            skipsLineFeed = false
            if bytes[start] == Self.lineFeed { start += 1 }
            scanned = max(scanned, start)
        }
        guard let end = nextTerminator() else {
            scanned = bytes.count
            guard bytes.count - start <= maximumByteCount else { throw .lineTooLong(limit: maximumByteCount) }
            return nil
        }
        let line = bytes[start..<end]
        guard line.count <= maximumByteCount else { throw .lineTooLong(limit: maximumByteCount) }
        skipsLineFeed = bytes[end] == Self.carriageReturn
        start = end + 1
        scanned = start
        return line
    }

    /// The last line when the content has ended without a terminator; `nil` when there is none.
    package mutating func finish() -> ArraySlice<UInt8>? {
        let isSkipped = skipsLineFeed && start < bytes.count && bytes[start] == Self.lineFeed
        let rest = bytes[(isSkipped ? start + 1 : start)...]
        restart()
        return rest.isEmpty ? nil : rest
    }

    /// Drops the unfinished line: new content begins.
    package mutating func restart() {
        self = LineSplitter(terminator: terminator, maximumByteCount: maximumByteCount)
    }

    private func nextTerminator() -> Int? {
        let isAny = terminator == .any
        return bytes.withUnsafeBufferPointer { bytes in
            var index = scanned
            while index < bytes.count {
                let byte = bytes[index]
                if byte == Self.lineFeed || isAny && byte == Self.carriageReturn { return index }
                index += 1
            }
            return nil
        }
    }

    /// Skips a byte order mark; false while there are too few bytes to decide whether there is a mark.
    private mutating func skipByteOrderMark() -> Bool {
        guard !hasSeenStart else { return true }
        let mark = Self.byteOrderMark
        if bytes.count < mark.count, mark.starts(with: bytes) { return false }
        hasSeenStart = true
        if bytes.starts(with: mark) {
            start = mark.count
            scanned = start
        }
        return true
    }
}
