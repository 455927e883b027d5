// The first line of a response.

/// A status line (RFC 9112 §4).
struct StatusLine: Equatable {
    var status = 0
    /// The digit after `HTTP/1.`.
    var minorVersion = 1
    /// Where the next line begins.
    var end = 0

    /// The version in the form of the wire.
    var version: String {
        switch minorVersion {
        case 1: "HTTP/1.1"
        case 0: "HTTP/1.0"
        default: "HTTP/1.\(minorVersion)"
        }
    }

    /// Reads `HTTP/1.1 200 OK`; `nil` when the line is not complete.
    ///
    /// The reason may be missing, and the space in front of it too, as many servers send it. A minor version above 1 is
    /// read as 1.1 (RFC 9110 §2.5). Something else than HTTP/1 shows at its first byte: its line might never end.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) -> StatusLine? {
        guard let base = bytes.baseAddress else { return nil }
        let prefix: StaticString = "HTTP/1."
        for index in 0..<min(7, bytes.count) where base.byte(index) != prefix.utf8Start[index] {
            throw .badResponse("the response does not begin with “HTTP/1.” (RFC 9112 §2.3)")
        }
        guard bytes.count > 12 else {
            guard FieldBytes.hasLineFeed(bytes, from: 7) else { return nil }
            throw .badResponse(tooShort)
        }
        if let complaint = complaint(about: base) {
            guard FieldBytes.hasLineFeed(bytes, from: 7) else { return nil }
            throw .badResponse(complaint)
        }
        let textEnd = FieldBytes.endOfText(base, from: 12, to: bytes.count)
        guard textEnd < bytes.count else { return nil }
        switch FieldBytes.lineEnd(at: textEnd, in: bytes, acceptsBareLineFeed: true) {
        case .incomplete: return nil
        case .fault(let detail): throw .badResponse(detail)
        case .next(let end):
            let (hundreds, tens, ones) = (base.byte(9) &- 0x30, base.byte(10) &- 0x30, base.byte(11) &- 0x30)
            return StatusLine(
                status: Int(hundreds) * 100 + Int(tens) * 10 + Int(ones), minorVersion: Int(base.byte(7) &- 0x30),
                end: end)
        }
    }

    private static let tooShort = "the response has a status line that is too short (RFC 9112 §4)"

    /// What is wrong with the 13 bytes at the start; the same as when they are all that came.
    private static func complaint(about base: UnsafeRawPointer) -> String? {
        guard !isWellFormed(base) else { return nil }
        if (7..<12).contains(where: { base.byte($0) == 0x0A }) { return tooShort }
        guard isDigit(base.byte(7)), base.byte(8) == 0x20 else {
            return "the response has a version that is not HTTP/1.0 or HTTP/1.1 (RFC 9112 §2.3)"
        }
        return "the response has a status that is not three digits (RFC 9112 §4)"
    }

    private static func isWellFormed(_ base: UnsafeRawPointer) -> Bool {
        let next = base.byte(12)
        return isDigit(base.byte(7)) && base.byte(8) == 0x20 && isDigit(base.byte(9)) && base.byte(9) != 0x30
            && isDigit(base.byte(10)) && isDigit(base.byte(11)) && (next == 0x20 || next == 0x0D || next == 0x0A)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
}
