// The parsing of challenges.

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.3).
package struct HTTPChallenge: Equatable, Sendable {
    /// The scheme, in lower case.
    package var scheme: String
    /// The single token (token68) that some schemes use instead of parameters.
    package var token: String?
    /// The parameters by name, in lower case; if a name occurs more than once, its first value.
    package var parameters: [String: String] = [:]

    /// The protection space within the origin (RFC 9110 §11.5).
    package var realm: String? { parameters["realm"] }

    /// The scheme as an `AuthenticationSchemes` value; `nil` for an unknown scheme.
    package var known: AuthenticationSchemes? {
        switch scheme {
        case "basic": .basic
        case "digest": .digest
        case "ntlm": .ntlm
        case "negotiate": .negotiate
        default: nil
        }
    }

    /// Makes a challenge.
    package init(scheme: String, token: String? = nil, parameters: [String: String] = [:]) {
        self.scheme = scheme
        self.token = token
        self.parameters = parameters
    }

    /// Returns all challenges of a response, in order: from `Proxy-Authenticate` for a 407, otherwise from
    /// `WWW-Authenticate`.
    package static func all(in head: ResponseHead) -> [HTTPChallenge] {
        head.values(of: head.status == 407 ? "Proxy-Authenticate" : "WWW-Authenticate").flatMap(all(in:))
    }

    /// Returns the challenges of one field line; malformed parts are skipped.
    package static func all(in line: String) -> [HTTPChallenge] {
        var scanner = ChallengeScanner(line)
        return scanner.challenges()
    }
}

/// Parses the challenges in a field line.
///
/// The grammar is ambiguous at commas: a word before `=` is a parameter of the current challenge, and any other word
/// begins a new challenge (RFC 9110 §11.6.1). Other bytes are skipped one by one, so that parsing always reaches the
/// end.
private struct ChallengeScanner {
    private let bytes: [UInt8]
    private var position = 0
    /// The most challenges of a line, more than a server needs; the rest of the line is ignored.
    private static let limit = 64

    init(_ line: String) {
        bytes = Array(line.utf8.prefix(64 * 1024))
    }

    mutating func challenges() -> [HTTPChallenge] {
        var found: [HTTPChallenge] = []
        while position < bytes.count, found.count <= Self.limit {
            guard let word = token() else {
                position += 1
                continue
            }
            if skipEquals() {
                let value = quotedOrToken() ?? ""
                guard let last = found.indices.last else { continue }
                let name = word.lowercased()
                if found[last].parameters[name] == nil { found[last].parameters[name] = value }
            } else {
                found.append(HTTPChallenge(scheme: word.lowercased(), token: token68()))
            }
        }
        return Array(found.prefix(Self.limit))
    }

    private mutating func token() -> String? {
        let start = position
        while position < bytes.count, bytes[position].isTokenByte { position += 1 }
        return position == start ? nil : String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Skips `=` and the white space around it; returns false and skips nothing if no `=` comes next.
    private mutating func skipEquals() -> Bool {
        let after = bytes[position...].firstIndex { !Self.isSpace($0) } ?? bytes.count
        guard after < bytes.count, bytes[after] == UInt8(ascii: "=") else { return false }
        position = bytes[(after + 1)...].firstIndex { !Self.isSpace($0) } ?? bytes.count
        return true
    }

    /// Reads the single token (token68) after a scheme, which must be followed by a comma or the end of the line.
    private mutating func token68() -> String? {
        guard position < bytes.count, Self.isSpace(bytes[position]) else { return nil }
        let start = bytes[position...].firstIndex { !Self.isSpace($0) } ?? bytes.count
        var end = start
        while end < bytes.count, Self.isToken68Byte(bytes[end]) { end += 1 }
        guard end > start else { return nil }
        while end < bytes.count, bytes[end] == UInt8(ascii: "=") { end += 1 }
        let after = bytes[end...].firstIndex { !Self.isSpace($0) } ?? bytes.count
        guard after == bytes.count || bytes[after] == UInt8(ascii: ",") else { return nil }
        position = after
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private mutating func quotedOrToken() -> String? {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return token() }
        position += 1
        var value: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\"), position < bytes.count {
                value.append(bytes[position])
                position += 1
            } else {
                value.append(byte)
            }
        }
        return String(decoding: value, as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "-._~+/".utf8.contains(byte)
    }
}
