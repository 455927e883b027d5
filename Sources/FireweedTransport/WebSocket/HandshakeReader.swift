// The parser of the response to an opening handshake.

import Foundation

/// Collects the bytes of a head, and parses it strictly: CRLF line ends, tokens as names, no folding (RFC 9112 §5).
package struct HandshakeReader {
    package enum Event {
        /// More bytes are needed.
        case none
        /// An interim response other than 101 (RFC 9110 §15.2); `rest` is the start of the next head.
        case interim(ResponseHead, rest: [UInt8])
        /// The final response or a 101; `rest` are the bytes after its head.
        case head(ResponseHead, rest: [UInt8])
        /// The bytes are not a response to a handshake.
        case malformed(String)
        /// The head is longer than the limit.
        case tooLong
    }

    private var bytes: [UInt8] = []
    private let limit: Int

    package init(limit: Int) {
        self.limit = limit
    }

    /// Takes received bytes, and returns the event that they complete.
    package mutating func append(_ more: some Collection<UInt8>) -> Event {
        let start = max(0, bytes.count - 3)
        bytes.append(contentsOf: more)
        guard let end = Self.endOfHead(in: bytes, from: start) else {
            if let complaint = Self.complaint(aboutStart: bytes) { return .malformed(complaint) }
            return bytes.count > limit ? .tooLong : .none
        }
        guard end <= limit else { return .tooLong }
        let head = bytes[..<(end - 2)]
        let rest = Array(bytes[end...])
        bytes.removeAll()
        switch Self.parse(head) {
        case .failure(let fault): return .malformed(fault.text)
        case .success(let parsed):
            let isInterim = (100..<200).contains(parsed.status) && parsed.status != 101
            return isInterim ? .interim(parsed, rest: rest) : .head(parsed, rest: rest)
        }
    }

    /// Returns the offset after the empty line; `nil` if the head is incomplete.
    private static func endOfHead(in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= 4 else { return nil }
        var index = start
        while index + 3 < bytes.count {
            if bytes[index] == 13, bytes[index + 1] == 10, bytes[index + 2] == 13, bytes[index + 3] == 10 {
                return index + 4
            }
            index += 1
        }
        return nil
    }

    /// Returns the error text if the first bytes are not HTTP/1; such a peer might never send an empty line.
    private static func complaint(aboutStart bytes: [UInt8]) -> String? {
        let expected = Array("HTTP/1.".utf8)
        guard !zip(bytes, expected).allSatisfy(==) else { return nil }
        return "the answer to the handshake is no HTTP/1.1"
    }

    struct Fault: Error { let text: String }

    /// Parses a status line such as `HTTP/1.1 101 Switching Protocols`, and the field lines.
    private static func parse(_ head: ArraySlice<UInt8>) -> Result<ResponseHead, Fault> {
        var lines = head.split(separator: 10, omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        guard let first = lines.first, let status = status(of: first) else {
            return .failure(Fault(text: "the answer to the handshake has no status line"))
        }
        var section: [UInt8] = []
        for line in lines.dropFirst() {
            guard isField(line) else {
                let text = String(decoding: line.prefix(40), as: UTF8.self)
                return .failure(Fault(text: "the answer to the handshake has a line that is no field: \(text)"))
            }
            section.append(contentsOf: line)
            section.append(10)
        }
        return .success(ResponseHead(status: status, version: "HTTP/1.1", section: section))
    }

    private static func status(of line: ArraySlice<UInt8>) -> Int? {
        let prefix = Array("HTTP/1.1 ".utf8)
        guard line.last == 13, line.starts(with: prefix) else { return nil }
        let digits = line.dropFirst(prefix.count).prefix(3)
        let next = line.dropFirst(prefix.count + 3).first
        guard digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) }), next == 0x20 || next == 13 else {
            return nil
        }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Whether a line is a token, a colon, a value without control characters except tabs, and CR.
    private static func isField(_ line: ArraySlice<UInt8>) -> Bool {
        guard line.last == 13, let colon = line.firstIndex(of: 0x3A), colon > line.startIndex else { return false }
        let value = line[(colon + 1)...].dropLast()
        return line[..<colon].allSatisfy(\.isTokenByte) && value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 9 }
    }
}
