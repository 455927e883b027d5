// Reading of requests on a server (RFC 9112).

import Fireweed
import FireweedTransport
package import Foundation

/// Reads one request after the other from a stream, and keeps the received bytes.
///
/// Written for the clients of tests: a request with an incomplete head or unreadable content ends the connection.
package struct RequestReader {
    /// Request line and fields.
    package struct Head {
        package var method: String
        package var target: String
        package var fields: [Field]

        func value(_ name: String) -> String? {
            fields.first { $0.name.isEqualIgnoringASCIICase(name) }?.value
        }

        /// The version of the protocol, such as `HTTP/1.1`.
        package var version = "HTTP/1.1"
        /// Whether a line of the head is not allowed by RFC 9112 §3 and §5, such as a folded one.
        var isMalformed = false

        /// The status with which a server refuses the head; `nil` for a head that is accepted.
        ///
        /// RFC 9112 §2.3 and §2.6 for the version, §3 and §5 for the lines, §3.2 for `Host`.
        /// RFC 9112 §6.1 for two framings. RFC 6455 §4.2.1 for the opening handshake of a WebSocket.
        var refusal: Int? {
            if isMalformed { return 400 }
            let bytes = Array(version.utf8)
            let isVersion = bytes.count == 8 && version.hasPrefix("HTTP/") && bytes[6] == UInt8(ascii: ".")
            guard isVersion, [bytes[5], bytes[7]].allSatisfy({ (0x30...0x39).contains($0) }) else { return 400 }
            guard version.hasPrefix("HTTP/1.") else { return 505 }
            let hostCount = count("Host")
            if hostCount > 1 || hostCount == 0 && version != "HTTP/1.0" { return 400 }
            if count("Transfer-Encoding") > 0, count("Content-Length") > 0 { return 400 }
            if contentLength == nil { return 400 }
            guard has("websocket", in: "Upgrade") else { return nil }
            guard value("Sec-WebSocket-Version") == "13" else { return 426 }
            let key = value("Sec-WebSocket-Key").flatMap { Data(base64Encoded: $0) }
            guard method == "GET", count("Sec-WebSocket-Key") == 1, key?.count == 16, has("Upgrade", in: "Connection")
            else { return 400 }
            return nil
        }

        private func count(_ name: String) -> Int { fields.count { $0.name.isEqualIgnoringASCIICase(name) } }

        /// The `Content-Length` (RFC 9112 §6.3): 0 when the head has none or the content is chunked, `nil` when
        /// invalid.
        ///
        /// Repeated equal lengths count as one.
        var contentLength: Int? {
            if has("chunked", in: "Transfer-Encoding") { return 0 }
            let values = fields.filter { $0.name.isEqualIgnoringASCIICase("Content-Length") }.flatMap {
                $0.value.split(separator: ",", omittingEmptySubsequences: false).map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
            }
            guard let first = values.first else { return 0 }
            guard values.allSatisfy({ $0 == first }), first.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return nil
            }
            return Int(first)
        }

        /// Whether the list of a field has a token; case does not matter.
        func has(_ token: String, in name: String) -> Bool {
            (value(name) ?? "").split(separator: ",").contains {
                $0.trimmingCharacters(in: .whitespaces).isEqualIgnoringASCIICase(token)
            }
        }
    }

    private let stream: any ServerStream
    private var buffer = Data()
    /// The bytes of the request that is being read.
    package private(set) var raw = Data()
    /// The trailers of the content that was read last (RFC 9112 §7.1.2).
    private(set) var trailers: [Field] = []
    /// The longest head or line, in bytes; longer ones end the connection.
    private static let limit = 1 << 20

    package init(_ stream: any ServerStream) {
        self.stream = stream
    }

    /// Removes and returns the bytes that were received after the last request.
    mutating func takeRest() -> Data {
        defer { buffer = Data() }
        return buffer
    }

    private mutating func fill() -> Bool {
        let count = withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { space in
            let count = stream.read(into: space)
            if count > 0 { buffer.append(contentsOf: space[..<count]) }
            return count
        }
        return count > 0
    }

    private mutating func take(_ count: Int) -> Data {
        let taken = Data(buffer.prefix(count))
        buffer = Data(buffer.dropFirst(count))
        raw.append(taken)
        return taken
    }

    /// Reads a line, and drops its CRLF or LF; `nil` when the connection ends, or when the line is too long.
    private mutating func line() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                let bytes = take(end - buffer.startIndex + 1).dropLast()
                return String(decoding: bytes.last == 0x0D ? bytes.dropLast() : bytes, as: UTF8.self)
            }
            guard buffer.count < Self.limit, fill() else { return nil }
        }
    }

    /// Reads exactly this many bytes; `nil` when the connection ends earlier.
    private mutating func bytes(_ count: Int) -> Data? {
        while buffer.count < count { guard fill() else { return nil } }
        return take(count)
    }

    /// Reads the next head; `nil` when the connection ends, or when the head is too long.
    package mutating func head() -> Head? {
        (raw, trailers) = (Data(), [])
        guard let requestLine = line() else { return nil }
        let parts = requestLine.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        var head = Head(method: parts[0], target: parts.count > 1 ? parts[1] : "", fields: [])
        head.version = parts.last ?? ""
        head.isMalformed = parts.count != 3 || !head.method.isToken || head.target.isEmpty
        while let line = line(), raw.count < Self.limit {
            if line.isEmpty { return head }
            if let field = Self.field(line) { head.fields.append(field) } else { head.isMalformed = true }
        }
        return nil
    }

    /// Parses a field; `nil` for a line without a colon, and for a line whose name is not a token, such as a folded
    /// line, which begins with a space.
    private static func field(_ line: String) -> Field? {
        guard let colon = line.firstIndex(of: ":"), String(line[..<colon]).isToken else { return nil }
        let value = line[line.index(after: colon)...].trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
        return Field(name: String(line[..<colon]), value: value)
    }

    /// Reads the content after a head, without its framing.
    ///
    /// Returns `nil` when the connection ends before the content does, or when the length of the content cannot be
    /// parsed. For faults, `limit` stops reading after this many bytes.
    package mutating func content(of head: Head, limit: Int? = nil) -> Data? {
        if head.has("chunked", in: "Transfer-Encoding") { return chunks(limit) }
        guard let length = head.contentLength else { return nil }
        return bytes(min(length, limit ?? length))
    }

    /// Reads content in chunks (RFC 9112 §7.1); skips chunk extensions, and lines of the trailers that are not fields.
    private mutating func chunks(_ limit: Int?) -> Data? {
        var content = Data()
        while let line = line() {
            let digits = line.prefix { $0.isHexDigit }
            // The size may be followed by white space and an extension.
            let rest = line[digits.endIndex...].drop { $0 == " " || $0 == "\t" }
            guard let size = Int(digits, radix: 16), size < 1 << 40, rest.isEmpty || rest.first == ";" else {
                return nil
            }
            guard size > 0 else {
                let start = raw.count
                while let line = self.line(), raw.count - start < Self.limit {
                    if line.isEmpty { return content }
                    if let field = Self.field(line) { trailers.append(field) }
                }
                return nil
            }
            let wanted = min(size, limit.map { $0 - content.count } ?? size)
            guard let chunk = bytes(wanted) else { return nil }
            content.append(chunk)
            if wanted < size || limit == content.count { return content }
            guard self.line() == "" else { return nil }
        }
        return nil
    }
}
