// URI references, such as the value of `Location`.

package import Foundation

/// Resolves a URI reference against a base URL (RFC 3986 §5.2), and encodes characters that a URL may not contain.
///
/// Foundation's own resolving encodes every `%` of a path or a query in which one character needs encoding:
/// `?f[n]=a%20b` becomes `?f%5Bn%5D=a%2520b`. Here an escape stays an escape, and only characters outside of escapes
/// are encoded.
package enum URLReference {
    /// Resolves a reference in a field; `nil` when the reference is empty or invalid.
    package static func resolve(_ reference: String, against base: URL) -> URL? {
        let text = reference.unicodeScalars.drop { $0.value <= 0x20 }
        guard let last = text.lastIndex(where: { $0.value > 0x20 }), let own = URLParts(base.absoluteString),
            own.scheme != nil
        else { return nil }
        return URLParts(String(text[...last]))?.resolved(against: own).url
    }

    /// A URL or a reference with path, query and fragment percent-encoded where needed; scheme and authority are
    /// unchanged.
    package static func encoded(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let authority = scalars.firstRange(of: "://".unicodeScalars)?.upperBound ?? scalars.startIndex
        let start = scalars[authority...].firstIndex { "/?#".unicodeScalars.contains($0) } ?? scalars.endIndex
        return String(scalars[..<start]) + URLParts.encoded(behindAuthority: scalars[start...])
    }
}

/// The five parts of a URI reference (RFC 3986 §3), each encoded.
struct URLParts {
    /// In lower case.
    var scheme: String?
    var authority: Authority?
    var path: String
    var query: String?
    var fragment: String?

    struct Authority {
        var userinfo: String?
        /// Without escapes: Foundation converts a host outside of ASCII to its IDNA form.
        var host: String
        var port: String?
    }

    /// Parses a reference like the regular expression of RFC 3986, appendix B; `nil` when its authority is malformed.
    ///
    /// Parsed by scalars: in a `Character`, a combining mark would hide a delimiter.
    init?(_ text: String) {
        var rest = text.unicodeScalars[...]
        if let colon = rest.firstIndex(where: { ":/?#".unicodeScalars.contains($0) }), rest[colon] == ":",
            Self.isScheme(rest[..<colon])
        {
            scheme = String(rest[..<colon]).lowercased()
            rest = rest[rest.index(after: colon)...]
        }
        fragment = Self.cut(from: "#", of: &rest)
        query = Self.cut(from: "?", of: &rest)
        if rest.starts(with: "//".unicodeScalars) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            guard let authority = Self.authority(rest[..<end]) else { return nil }
            self.authority = authority
            rest = rest[end...]
        }
        path = Self.encoded(rest, allowing: "/:@")
    }

    /// Removes the query or the fragment from the end of a text, and returns it encoded; `nil` when there is none.
    private static func cut(from mark: Unicode.Scalar, of text: inout Text) -> String? {
        guard let index = text.firstIndex(of: mark) else { return nil }
        defer { text = text[..<index] }
        return encoded(text[text.index(after: index)...], allowing: "/?:@")
    }

    /// Path, query and fragment, encoded.
    static func encoded(behindAuthority text: Substring.UnicodeScalarView) -> String {
        var rest = text
        let fragment = cut(from: "#", of: &rest).map { "#\($0)" } ?? ""
        let query = cut(from: "?", of: &rest).map { "?\($0)" } ?? ""
        return encoded(rest, allowing: "/:@") + query + fragment
    }

    /// Applies the algorithm of RFC 3986 §5.2.2; `base` has a scheme.
    func resolved(against base: URLParts) -> URLParts {
        var target = self
        if scheme != nil || authority != nil {
            target.scheme = scheme ?? base.scheme
            // A path that does not begin with a slash belongs to a scheme like `mailto`, and has no segments.
            if path.utf8.first == UInt8(ascii: "/") { target.path = Self.withoutDotSegments(path) }
            return target
        }
        target.scheme = base.scheme
        target.authority = base.authority
        if path.isEmpty {
            target.path = base.path
            target.query = query ?? base.query
        } else {
            target.path = Self.withoutDotSegments(merged(into: base))
        }
        return target
    }

    /// The path merged with the base's (§5.2.3).
    private func merged(into base: URLParts) -> String {
        if path.utf8.first == UInt8(ascii: "/") { return path }
        if base.authority != nil, base.path.isEmpty { return "/\(path)" }
        let folder = base.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { base.path[...$0] } ?? ""
        return folder + path
    }

    /// The parts as a URL (§5.3); `nil` when Foundation does not accept it.
    var url: URL? {
        // The scheme is in lower case (RFC 3986 §3.1), since the rest of the library compares schemes in that form.
        guard let scheme = scheme?.lowercased() else { return nil }
        let needsHost = scheme == "http" || scheme == "https"
        guard !needsHost || authority?.host.isEmpty == false else { return nil }
        var text = "\(scheme):"
        if let authority {
            text += "//"
            if let userinfo = authority.userinfo { text += "\(userinfo)@" }
            text += authority.host
            if let port = authority.port { text += ":\(port)" }
        } else if path.utf8.starts(with: "//".utf8) {
            return nil  // the dot segments are gone: this path would be read as an authority
        }
        text += path
        if let query { text += "?\(query)" }
        if let fragment { text += "#\(fragment)" }
        return URL(string: text).flatMap { needsHost && $0.host?.isEmpty != false ? nil : $0 }
    }

    // MARK: Parts

    private typealias Text = Substring.UnicodeScalarView

    private static func isScheme(_ text: Text) -> Bool {
        text.first.map(isASCIILetter) ?? false
            && text.allSatisfy { isASCIILetter($0) || isDigit($0) || "+-.".unicodeScalars.contains($0) }
    }

    /// Parses userinfo, host and port; `nil` for a backslash anywhere, an invalid host, and a port that is not a number
    /// up to 65535.
    ///
    /// An empty port is the same as none.
    private static func authority(_ text: Text) -> Authority? {
        guard !text.contains("\\") else { return nil }
        // Userinfo ends at the last `@`, as in browsers: no part of a password is taken for the host.
        let at = text.lastIndex(of: "@")
        let userinfo = at.map { encoded(text[..<$0], allowing: ":") }
        var host = at.map { text[text.index(after: $0)...] } ?? text
        var port: String?
        let bracket = host.lastIndex(of: "]")
        if let colon = host.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true {
            let digits = host[host.index(after: colon)...]
            guard digits.allSatisfy(isDigit), digits.isEmpty || UInt16(String(digits)) != nil else { return nil }
            port = digits.isEmpty ? nil : String(digits)
            host = host[..<colon]
        }
        guard let host = Self.host(host) else { return nil }
        return Authority(userinfo: userinfo, host: host, port: port)
    }

    /// Decodes the escapes of a host; `nil` for an invalid escape, a bracket without its pair, and characters, escaped
    /// or not, that no host has.
    private static func host(_ text: Text) -> String? {
        if text.first == "[" {
            let isLiteral = text.last == "]" && text.dropFirst().dropLast().allSatisfy(isOfLiteral)
            return isLiteral ? String(text) : nil
        }
        guard let host = String(text).removingPercentEncoding else { return nil }
        let isSound = host.unicodeScalars.allSatisfy { isUnreserved($0) || isSubDelimiter($0) || $0.value >= 0xA0 }
        return isSound ? host : nil
    }

    /// Whether a character may be between the brackets of an IPv6 address; Foundation checks the rest.
    private static func isOfLiteral(_ scalar: Unicode.Scalar) -> Bool {
        isUnreserved(scalar) || scalar == ":" || scalar == "%"
    }

    /// Percent-encodes everything except unreserved characters, sub-delimiters, escapes and `further` (§2).
    private static func encoded(_ text: Text, allowing further: String) -> String {
        var encoded = ""
        var rest = text
        while let scalar = rest.first {
            if isEscape(rest) || isUnreserved(scalar) || isSubDelimiter(scalar)
                || further.unicodeScalars.contains(scalar)
            {
                encoded.unicodeScalars.append(scalar)
            } else {
                for byte in String(scalar).utf8 {
                    encoded += byte < 0x10 ? "%0" : "%"
                    encoded += String(byte, radix: 16, uppercase: true)
                }
            }
            rest = rest.dropFirst()
        }
        return encoded
    }

    /// Removes `.` and `..` from a path (§5.2.4).
    static func withoutDotSegments(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map(Substring.init)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".":
                if isLast { kept.append("") }
            case "..":
                // The first segment of an absolute path is empty, and stays.
                if kept.count > 1 { kept.removeLast() }
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return kept.joined(separator: "/")
    }

    private static func isEscape(_ text: Text) -> Bool {
        guard text.first == "%" else { return false }
        let digits = text.dropFirst().prefix(2)
        return digits.count == 2 && digits.allSatisfy { $0.properties.isASCIIHexDigit }
    }

    private static func isASCIILetter(_ scalar: Unicode.Scalar) -> Bool {
        (0x61...0x7A).contains(scalar.value | 0x20)
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { (0x30...0x39).contains(scalar.value) }

    private static func isUnreserved(_ scalar: Unicode.Scalar) -> Bool {
        isASCIILetter(scalar) || isDigit(scalar) || "-._~".unicodeScalars.contains(scalar)
    }

    private static func isSubDelimiter(_ scalar: Unicode.Scalar) -> Bool {
        "!$&'()*+,;=".unicodeScalars.contains(scalar)
    }
}
