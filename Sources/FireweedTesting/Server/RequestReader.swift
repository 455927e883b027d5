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

        /// The status with which a server refuses the head, and why; `nil` for a head that is accepted.
        ///
        /// RFC 9112 §2.3 and §2.6 for the version, §3 and §5 for the lines, §3.2 for `Host`.
        /// RFC 9112 §6.1 for two framings. RFC 6455 §4.2.1 for the opening handshake of a WebSocket.
        var refusal: (status: Int, reason: String)? {
            if isMalformed { return (400, "a line of the head is not HTTP") }
            let bytes = Array(version.utf8)
            let isVersion = bytes.count == 8 && version.hasPrefix("HTTP/") && bytes[6] == UInt8(ascii: ".")
            guard isVersion, [bytes[5], bytes[7]].allSatisfy({ (0x30...0x39).contains($0) }) else {
                return (400, "the version is not one of HTTP")
            }
            guard version.hasPrefix("HTTP/1.") else { return (505, "only HTTP/1.1 and HTTP/1.0 are spoken here") }
            // Origin, absolute and asterisk form (RFC 9112 §3.2); the authority form is for CONNECT alone.
            let isTarget = target.hasPrefix("/") || !TargetText(target).scheme.isEmpty
            guard isTarget || method == "CONNECT" || method == "OPTIONS" && target == "*" else {
                return (400, "the target is neither a path nor a URL")
            }
            let hostCount = count("Host")
            if hostCount > 1 || hostCount == 0 && version != "HTTP/1.0" {
                return (400, "there has to be one Host field")
            }
            if count("Transfer-Encoding") > 0, count("Content-Length") > 0 {
                return (400, "the content has two framings")
            }
            let codings = list("Transfer-Encoding")
            if !codings.isEmpty {
                guard version != "HTTP/1.0" else { return (400, "HTTP/1.0 has no transfer codings") }
                guard codings.count == 1, codings[0].isEqualIgnoringASCIICase("chunked") else {
                    return (501, "the only transfer coding here is chunked")
                }
            }
            if contentLength == nil { return (400, "Content-Length is not one number") }
            guard has("websocket", in: "Upgrade") else { return nil }
            guard value("Sec-WebSocket-Version") == "13" else { return (426, "the version of WebSockets is 13") }
            let key = value("Sec-WebSocket-Key").flatMap { Data(base64Encoded: $0) }
            guard method == "GET", count("Sec-WebSocket-Key") == 1, key?.count == 16, has("Upgrade", in: "Connection")
            else { return (400, "the handshake of the WebSocket is not complete") }
            return nil
        }

        /// The elements of all fields of a name whose value is a list (RFC 9110 §5.6.1), the empty ones too.
        private func list(_ name: String) -> [String] {
            fields.filter { $0.name.isEqualIgnoringASCIICase(name) }.flatMap {
                $0.value.split(separator: ",", omittingEmptySubsequences: false).map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
            }
        }

        private func count(_ name: String) -> Int { fields.count { $0.name.isEqualIgnoringASCIICase(name) } }

        /// The `Content-Length` (RFC 9112 §6.3): 0 when the head has none or the content is chunked, `nil` when
        /// invalid.
        ///
        /// Repeated equal lengths count as one.
        var contentLength: Int? {
            if has("chunked", in: "Transfer-Encoding") { return 0 }
            let values = list("Content-Length")
            guard let first = values.first else { return 0 }
            guard values.allSatisfy({ $0 == first }), first.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return nil
            }
            return Int(first)
        }

        /// Whether the connection ends with this exchange (RFC 9112 §9.3).
        var isLast: Bool { has("close", in: "Connection") || version == "HTTP/1.0" }

        /// Whether the list of a field has a token; case does not matter.
        func has(_ token: String, in name: String) -> Bool {
            (value(name) ?? "").split(separator: ",").contains {
                $0.trimmingCharacters(in: .whitespaces).isEqualIgnoringASCIICase(token)
            }
        }
    }

    private let stream: any ServerStream
    /// Whether `raw` gets the content too; if not, content takes no memory beside the caller's.
    private let keepsContent: Bool
    /// Bytes that were received, of which those before `start` are read.
    private var buffer = Data()
    private var start = 0
    /// The bytes of the request that is being read.
    package private(set) var raw = Data()
    /// The trailers of the content that was read last (RFC 9112 §7.1.2).
    private(set) var trailers: [Field] = []
    /// The longest head or line, in bytes; longer ones end the connection.
    private static let limit = 1 << 20
    /// Whether the content that was read last is not framed as RFC 9112 §7.1 says.
    private(set) var isContentMalformed = false

    package init(_ stream: any ServerStream, keepsContent: Bool = true) {
        self.stream = stream
        self.keepsContent = keepsContent
    }

    /// Removes and returns the bytes that were received after the last request.
    mutating func takeRest() -> Data {
        defer { (buffer, start) = (Data(), 0) }
        return Data(buffer.dropFirst(start))
    }

    private mutating func fill() -> Bool {
        if start > 0 { (buffer, start) = (Data(buffer.dropFirst(start)), 0) }
        return withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { space in
            let count = stream.read(into: space)
            if count > 0 { buffer.append(contentsOf: space[..<count]) }
            return count > 0
        }
    }

    private mutating func take(_ count: Int) -> Data {
        defer { start += count }
        return buffer[start..<start + count]
    }

    /// Reads a line, and drops its CRLF or LF; `nil` when the connection ends, or when the line is too long.
    private mutating func line() -> String? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                let taken = take(end - start + 1)
                raw.append(taken)
                let bytes = taken.dropLast()
                return String(decoding: bytes.last == 0x0D ? bytes.dropLast() : bytes, as: UTF8.self)
            }
            searched = buffer.count - start
            guard searched < Self.limit, fill() else { return nil }
        }
    }

    /// Passes on exactly this many bytes, piece by piece; false when the connection ends earlier.
    private mutating func pass(_ count: Int, to take: (UnsafeRawBufferPointer) -> Void) -> Bool {
        var left = count
        while left > 0 {
            if start == buffer.count { guard fill() else { return false } }
            let piece = self.take(min(left, buffer.count - start))
            if keepsContent { raw.append(piece) }
            piece.withUnsafeBytes(take)
            left -= piece.count
        }
        return true
    }

    /// Reads the next head; `nil` when the connection ends, or when the head is too long.
    package mutating func head() -> Head? {
        (raw, trailers) = (Data(), [])
        // Empty lines before a request are ignored (RFC 9112 §2.2).
        while true {
            while start == buffer.count { guard fill() else { return nil } }
            guard let first = buffer[start...].first, first == 0x0A || first == 0x0D else { break }
            start += 1
        }
        // No method begins with a control character, and a client that speaks TLS sends no line.
        if let first = buffer[start...].first, first < 0x20 {
            raw.append(take(buffer.count - start))
            var head = Head(method: RecordedRequest.unreadableMethod.rawValue, target: "", fields: [])
            head.isMalformed = true
            return head
        }
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

    /// Parses a field; `nil` for a line without a colon, for a line whose name is not a token, such as a folded line,
    /// which begins with a space, and for a value with a NUL or a CR (RFC 9110 §5.5).
    private static func field(_ line: String) -> Field? {
        guard let colon = line.firstIndex(of: ":"), String(line[..<colon]).isToken, line.staysInLine else {
            return nil
        }
        let value = line[line.index(after: colon)...].trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
        return Field(name: String(line[..<colon]), value: value)
    }

    /// Reads the content after a head, without its framing.
    ///
    /// Returns `nil` when the connection ends before the content does, or when the length of the content cannot be
    /// parsed. For faults, `limit` stops reading after this many bytes.
    package mutating func content(of head: Head, limit: Int? = nil) -> Data? {
        var content = Data()
        return pass(head, limit) { content.append(contentsOf: $0) } ? content : nil
    }

    /// Passes on the content after a head, without its framing; false where `content(of:limit:)` returns `nil`.
    mutating func pass(_ head: Head, _ limit: Int? = nil, to take: (UnsafeRawBufferPointer) -> Void) -> Bool {
        if head.has("chunked", in: "Transfer-Encoding") { return passChunks(limit, to: take) }
        guard let length = head.contentLength else { return false }
        return pass(min(length, limit ?? length), to: take)
    }

    /// Passes on content in chunks (RFC 9112 §7.1); skips chunk extensions, and lines of the trailers that are not
    /// fields.
    private mutating func passChunks(_ limit: Int?, to take: (UnsafeRawBufferPointer) -> Void) -> Bool {
        var left = limit ?? .max
        while let line = line() {
            let digits = line.prefix { $0.isHexDigit }
            // The size may be followed by white space and an extension.
            let rest = line[digits.endIndex...].drop { $0 == " " || $0 == "\t" }
            guard let size = Int(digits, radix: 16), size < 1 << 40, rest.isEmpty || rest.first == ";" else {
                isContentMalformed = true
                return false
            }
            guard size > 0 else { return readTrailers() }
            let wanted = min(size, left)
            guard pass(wanted, to: take) else { return false }
            left -= wanted
            if left == 0 { return true }
            guard let end = self.line() else { return false }
            isContentMalformed = !end.isEmpty
            guard end.isEmpty else { return false }
            // The framing of tiny chunks is longer than they are.
            if !keepsContent { raw = Data() }
        }
        return false
    }

    /// Reads the fields after chunked content; false when they are too long, or when the connection ends before.
    private mutating func readTrailers() -> Bool {
        let start = raw.count
        while let line = line(), raw.count - start < Self.limit {
            if line.isEmpty { return true }
            if let field = Self.field(line) { trailers.append(field) }
        }
        return false
    }
}
