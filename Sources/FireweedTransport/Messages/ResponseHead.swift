// The head of a response, kept as received and decoded on demand.

import Glibc

/// A response's head: status, version and fields (RFC 9110 §6, RFC 9112 §4).
///
/// The bytes are kept as received, with their order, case and duplicates. A table with the offsets of names and values
/// follows in the same array, so that a head needs one allocation. Strings are made on demand.
public struct ResponseHead: Sendable {
    /// The status code (RFC 9110 §15).
    public let status: Int
    /// The version as received, such as `HTTP/1.1`.
    public let version: String
    /// The facts that every response needs, collected while the head was parsed.
    package let marks: Marks
    /// The status line, if there was one, then the field section, then the table of its fields.
    private let storage: [UInt8]
    private let sectionStart: UInt32
    private let sectionEnd: UInt32

    /// The most bytes of a head, since its table has offsets of 32 bits.
    static let maximumByteCount = 1 << 30

    /// Makes a head from a status and the lines of its field section, which end in CRLF or LF.
    package init(status: Int, version: String, section: [UInt8]) {
        self = section.withUnsafeBytes { ResponseHead(status: status, version: version, lines: $0) }
    }

    /// Makes a head from a status and the lines of its field section; lines without a colon are not fields.
    init(status: Int, version: String, lines: UnsafeRawBufferPointer) {
        var marks = Marks()
        var length = AnnouncedLength()
        var fields: [FieldRange] = []
        fields.reserveCapacity(lines.count / 32)
        Self.forEachField(of: lines) { field in
            fields.append(field)
            marks.note(field.name(in: lines), field.value(in: lines), &length)
        }
        if !length.isSound { marks.insert(.hasUnsoundLength) }
        self.init(status: status, version: version, bytes: lines, sectionStart: 0, fields: fields, marks: marks)
    }

    /// Makes a head from parsed bytes: a status line up to `sectionStart`, then the field lines.
    init(
        status: Int, version: String, bytes: UnsafeRawBufferPointer, sectionStart: Int, fields: [FieldRange],
        marks: Marks
    ) {
        self.status = status
        self.version = version
        self.marks = marks
        self.sectionStart = UInt32(sectionStart)
        sectionEnd = UInt32(bytes.count)
        let count = bytes.count + fields.count * FieldRange.byteCount
        // With a capacity of zero, the initialiser would write to the empty storage that all arrays share.
        guard count > 0 else {
            storage = []
            return
        }
        storage = [UInt8](unsafeUninitializedCapacity: count) { storage, initializedCount in
            let whole = UnsafeMutableRawBufferPointer(storage)
            whole.checkedCopy(from: bytes)
            fields.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: whole[bytes.count...]).checkedCopy(from: $0)
            }
            initializedCount = count
        }
    }

    /// Makes a head, for transports that do not receive HTTP messages.
    ///
    /// - Parameters:
    ///   - status: the status code.
    ///   - version: the version in the status line.
    ///   - fields: the fields in order.
    public init(status: Int, version: String = "HTTP/1.1", fields: [Field]) {
        let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        self.init(status: status, version: version, section: Array(lines.utf8))
    }

    /// The field section: lines that end in CRLF or LF, without the status line and the empty line.
    package var section: [UInt8] { Array(storage[Int(sectionStart)..<Int(sectionEnd)]) }

    /// The number of bytes in `section`.
    package var sectionByteCount: Int { Int(sectionEnd - sectionStart) }

    /// The head as received on an HTTP/1.1 connection: status line and field lines, without the empty line.
    ///
    /// Without a status line, as on HTTP/2, it is the same as `section`.
    package var receivedLines: [UInt8] { Array(storage[..<Int(sectionEnd)]) }

    /// The reason phrase (RFC 9112 §4), which may be empty; `nil` if there was no status line, as on HTTP/2.
    package var reason: String? {
        guard sectionStart > 0 else { return nil }
        return storage.withUnsafeBytes { bytes in
            var start = Self.statusStart(in: UnsafeRawBufferPointer(rebasing: bytes[..<Int(sectionStart)])) + 3
            var end = Int(sectionStart)
            while end > start, bytes[end - 1] == 0x0A || bytes[end - 1] == 0x0D { end -= 1 }
            while start < end, bytes[start] == 0x20 { start += 1 }
            return Self.text(UnsafeRawBufferPointer(rebasing: bytes[min(start, end)..<end]))
        }
    }

    /// Returns the offset of the status, after the version and one or more spaces.
    static func statusStart(in bytes: UnsafeRawBufferPointer) -> Int {
        var index = 9
        while index < bytes.count, bytes[index] == 0x20 { index += 1 }
        return index
    }

    /// All fields in the order received; a name can occur more than once.
    public var fields: [Field] {
        var fields: [Field] = []
        forEachLine { name, value in
            fields.append(Field(name: Self.text(name), value: Self.text(value)))
            return true
        }
        return fields
    }

    /// Returns the values of all fields of this name, joined by commas (RFC 9110 §5.3); `nil` if there are none.
    public func value(of name: String) -> String? {
        var joined: String?
        forEachLine { candidate, value in
            if Self.isName(candidate, name) {
                joined = joined.map { "\($0), \(Self.text(value))" } ?? Self.text(value)
            }
            return true
        }
        return joined
    }

    /// Returns the values of all fields of this name, for `Set-Cookie`, whose values cannot be joined (RFC 6265 §3).
    public func values(of name: String) -> [String] {
        var values: [String] = []
        forEachLine { candidate, value in
            if Self.isName(candidate, name) { values.append(Self.text(value)) }
            return true
        }
        return values
    }

    /// Whether there is a field of this name.
    public func contains(_ name: String) -> Bool {
        var found = false
        forEachLine { candidate, _ in
            found = Self.isName(candidate, name)
            return !found
        }
        return found
    }

    /// The announced length of the content in bytes; `nil` if there is none (RFC 9110 §8.6).
    public var contentLength: Int64? {
        guard let text = values(of: "Content-Length").first, let length = Int64(text), length >= 0 else { return nil }
        return length
    }

    /// Calls `body` with the name and value of each field, until `body` returns false.
    package func forEachLine(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool) {
        forEachField { field, bytes in body(field.name(in: bytes), field.value(in: bytes)) }
    }

    /// Calls `body` with the offsets of each field, and the bytes that they refer to, until `body` returns false.
    func forEachField(_ body: (FieldRange, UnsafeRawBufferPointer) -> Bool) {
        storage.withUnsafeBytes { bytes in
            var place = Int(sectionEnd)
            while place < bytes.count {
                guard body(bytes.loadUnaligned(fromByteOffset: place, as: FieldRange.self), bytes) else { return }
                place += FieldRange.byteCount
            }
        }
    }

    /// Finds the fields in unchecked lines.
    private static func forEachField(of lines: UnsafeRawBufferPointer, _ body: (FieldRange) -> Void) {
        guard let base = lines.baseAddress else { return }
        var start = 0
        while start < lines.count {
            let lineEnd =
                memchr(base + start, 0x0A, lines.count - start).map { UnsafeRawPointer($0) - base } ?? lines.count
            if let colon = memchr(base + start, 0x3A, lineEnd - start).map({ UnsafeRawPointer($0) - base }) {
                let value = trimmed(lines, from: colon + 1, to: lineEnd)
                body(
                    FieldRange(
                        nameStart: UInt32(start), nameEnd: UInt32(colon), valueStart: UInt32(value.lowerBound),
                        valueEnd: UInt32(value.upperBound)))
            }
            start = lineEnd + 1
        }
    }

    /// Removes the optional white space around a value (RFC 9110 §5.5), and the CR at the end of the line.
    private static func trimmed(_ bytes: UnsafeRawBufferPointer, from first: Int, to last: Int) -> Range<Int> {
        var (start, end) = (first, last)
        while start < end, bytes[start].isFieldSpace || bytes[start] == 0x0D { start += 1 }
        while start < end, bytes[end - 1].isFieldSpace || bytes[end - 1] == 0x0D { end -= 1 }
        return start..<end
    }

    /// Decodes UTF-8, or ISO-8859-1 if the bytes are not UTF-8: fields were once in that encoding (RFC 9110 §5.5).
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(decoding: bytes.map(UInt16.init), as: UTF16.self)
    }
}
