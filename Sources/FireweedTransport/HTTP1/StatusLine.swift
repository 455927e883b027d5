// The status line of a response.

/// A status line (RFC 9112 §4).
struct StatusLine: Equatable {
    var status = 0
    /// The digit after `HTTP/1.`.
    var minorVersion = 1
    /// The offset of the next line.
    var end = 0

    /// The HTTP version as written in a status line.
    var version: String {
        switch minorVersion {
        case 1: "HTTP/1.1"
        case 0: "HTTP/1.0"
        default: "HTTP/1.\(minorVersion)"
        }
    }

    /// Parses a line such as `HTTP/1.1 200 OK`; `nil` if the line is incomplete.
    ///
    /// The reason phrase may be missing, and the space before it too, because many servers omit them. Several spaces
    /// before the status are accepted, as in curl. A minor version above 1 is handled as 1.1 (RFC 9110 §2.5). If the
    /// bytes do not begin with `HTTP/1.`, the first wrong byte is refused at once, since the line might never end.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) -> StatusLine? {
        guard let base = bytes.baseAddress else { return nil }
        let prefix: StaticString = "HTTP/1."
        for index in 0..<min(7, bytes.count) where base.byte(index) != prefix.utf8Start[index] {
            throw .badResponse("the response does not begin with “HTTP/1.” (RFC 9112 §2.3)")
        }
        let statusStart = ResponseHead.statusStart(in: bytes)
        guard bytes.count > statusStart + 3 else {
            guard FieldBytes.hasLineFeed(bytes, from: 7) else { return nil }
            throw .badResponse(tooShort)
        }
        if let complaint = complaint(about: base, statusStart) {
            guard FieldBytes.hasLineFeed(bytes, from: 7) else { return nil }
            throw .badResponse(complaint)
        }
        let textEnd = FieldBytes.endOfText(base, from: statusStart + 3, to: bytes.count)
        guard textEnd < bytes.count else { return nil }
        switch FieldBytes.lineEnd(at: textEnd, in: bytes, acceptsBareLineFeed: true) {
        case .incomplete: return nil
        case .fault(let detail): throw .badResponse(detail)
        case .next(let end):
            let status = (0..<3).reduce(0) { $0 * 10 + Int(base.byte(statusStart + $1) &- 0x30) }
            return StatusLine(status: status, minorVersion: Int(base.byte(7) &- 0x30), end: end)
        }
    }

    private static let tooShort = "the response has a status line that is too short (RFC 9112 §4)"

    /// Returns the fault in the bytes up to the byte after the status, if any; later bytes do not change this fault.
    private static func complaint(about base: UnsafeRawPointer, _ statusStart: Int) -> String? {
        guard !isWellFormed(base, statusStart) else { return nil }
        if (7..<(statusStart + 3)).contains(where: { base.byte($0) == 0x0A }) { return tooShort }
        guard isDigit(base.byte(7)), base.byte(8) == 0x20 else {
            return "the response has a version that is not HTTP/1.0 or HTTP/1.1 (RFC 9112 §2.3)"
        }
        return "the response has a status that is not three digits (RFC 9112 §4)"
    }

    private static func isWellFormed(_ base: UnsafeRawPointer, _ start: Int) -> Bool {
        let next = base.byte(start + 3)
        return isDigit(base.byte(7)) && base.byte(8) == 0x20 && isDigit(base.byte(start)) && base.byte(start) != 0x30
            && isDigit(base.byte(start + 1)) && isDigit(base.byte(start + 2))
            && (next == 0x20 || next == 0x0D || next == 0x0A)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
}
