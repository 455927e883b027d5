// The status line and fields of a response, kept as they came and read when someone asks.

import Glibc

/// A response's head: status, version and fields (RFC 9110 §6, RFC 9112 §4).
///
/// The bytes are kept as they came in; looking a field up reads through them, which for the usual dozen fields is cheaper than
/// making strings of all of them.
public struct ResponseHead: Sendable {
    /// The status code (RFC 9110 §15).
    public let status: Int
    /// The version as the wire says it, as `HTTP/1.1`.
    public let version: String
    /// The field section: lines that end in CRLF or LF, without the status line and the empty line.
    package let section: [UInt8]
    /// What is asked of every head, found out in one pass.
    package let marks: Marks

    /// Makes a head of a status and the raw lines of its field section.
    package init(status: Int, version: String, section: [UInt8]) {
        self.status = status
        self.version = version
        self.section = section
        marks = Marks(of: section)
    }

    /// Makes a head of fields, for transports that do not read from the wire.
    public init(status: Int, version: String = "HTTP/1.1", fields: [Field]) {
        let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        self.init(status: status, version: version, section: Array(lines.utf8))
    }

    /// Every field in the order of the wire; a name can appear more than once.
    public var fields: [Field] {
        var fields: [Field] = []
        forEachLine { name, value in
            fields.append(Field(name: Self.text(name), value: Self.text(value)))
            return true
        }
        return fields
    }

    /// The values of all fields of this name, joined by a comma as RFC 9110 §5.3 allows; `nil` when there is none.
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

    /// The values of the fields of this name, one by one: for `Set-Cookie`, which cannot be joined (RFC 6265 §3).
    public func values(of name: String) -> [String] {
        var values: [String] = []
        forEachLine { candidate, value in
            if Self.isName(candidate, name) { values.append(Self.text(value)) }
            return true
        }
        return values
    }

    /// True when a field of this name is there.
    public func contains(_ name: String) -> Bool {
        var found = false
        forEachLine { candidate, _ in
            found = Self.isName(candidate, name)
            return !found
        }
        return found
    }

    /// The announced length of the content in bytes, when there is one (RFC 9110 §8.6).
    public var contentLength: Int64? {
        guard let text = values(of: "Content-Length").first, let length = Int64(text), length >= 0 else { return nil }
        return length
    }

    /// Calls `body` with name and value of each line until it says false.
    package func forEachLine(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool) {
        Self.forEachLine(of: section, body)
    }

    static func forEachLine(
        of section: [UInt8], _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) {
        section.withUnsafeBytes { bytes in
            guard var start = bytes.baseAddress else { return }
            let end = start + bytes.count
            while start < end {
                let lineEnd = memchr(start, 0x0A, end - start).map { UnsafeRawPointer($0) } ?? end
                if let colon = memchr(start, 0x3A, lineEnd - start).map({ UnsafeRawPointer($0) }) {
                    let name = UnsafeRawBufferPointer(start: start, count: colon - start)
                    let value = UnsafeRawBufferPointer(start: colon + 1, count: lineEnd - colon - 1)
                    guard body(name, trimmed(value[...])) else { return }
                }
                start = lineEnd + 1
            }
        }
    }

    /// Drops the optional white space around a value (RFC 9110 §5.5), and the CR of the line's end.
    static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> UnsafeRawBufferPointer {
        var (start, end) = (bytes.startIndex, bytes.endIndex)
        while start < end, isSpace(bytes.base[start]) { start += 1 }
        while start < end, isSpace(bytes.base[end - 1]) { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes.base[start..<end])
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D
    }

    /// UTF-8 where the bytes are, else ISO-8859-1, which is what such fields were before (RFC 9110 §5.5).
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(decoding: bytes.map(UInt16.init), as: UTF16.self)
    }
}
