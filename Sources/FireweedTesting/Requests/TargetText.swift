// The parts of a URL, split without Foundation.

import Foundation

/// Scheme, authority, path and query of an absolute URL, as they are written.
///
/// The URL of every stubbed request is split once; `URLComponents` would take a third of the request's time.
struct TargetText: Sendable, Hashable {
    /// The scheme, in the case of the URL; empty for an origin-form target.
    var scheme: Substring
    /// The authority: host and port, without userinfo.
    var authority: Substring
    /// The path; at least `/`.
    var path: Substring
    /// The query, without the question mark; `nil` when there is none.
    var query: Substring?

    init(_ url: String) {
        var rest = url[...]
        if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        scheme = ""
        authority = ""
        if let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")),
            rest.utf8[colon...].starts(with: "://".utf8),
            // A path or a query may hold a URL.
            !rest[..<colon].utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") })
        {
            scheme = rest[..<colon]
            rest = rest[rest.utf8.index(colon, offsetBy: 3)...]
            let end =
                rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            authority = rest[..<end]
            if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
                authority = authority[authority.utf8.index(after: at)...]
            }
            rest = rest[end...]
        }
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            query = rest[rest.utf8.index(after: mark)...]
            rest = rest[..<mark]
        }
        path = rest.isEmpty ? "/" : rest
    }

    /// The authority in lower case, without the scheme's default port (RFC 9110 §4.2.3).
    ///
    /// `ws` and `wss` have the default ports of `http` and `https`.
    var origin: String {
        let text = authority.lowercased()
        let port =
            switch scheme.lowercased() {
            case "http", "ws": ":80"
            case "https", "wss": ":443"
            default: ""
            }
        return !port.isEmpty && text.hasSuffix(port) ? String(text.dropLast(port.count)) : text
    }

    /// The segments of the path, still percent-encoded; a path that ends in a slash has an empty last segment.
    var segments: [Substring] {
        path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    }

    /// The names and values of the query, decoded, in order.
    var queryItems: [URLQueryItem] { query.map { FormPairs.decoded($0, plusIsSpace: false) } ?? [] }
}

/// Pairs of names and values in a query or a form.
enum FormPairs {
    /// Splits a text at `&` and at the first `=` of each pair, and decodes percent-encoding.
    ///
    /// With `plusIsSpace`, `+` is a space, as in `application/x-www-form-urlencoded` (WHATWG URL §5.1).
    static func decoded(_ text: Substring, plusIsSpace: Bool) -> [URLQueryItem] {
        text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? decoded(String(parts[1]), plusIsSpace) : nil
            return URLQueryItem(name: decoded(String(parts[0]), plusIsSpace), value: value)
        }
    }

    /// Encodes a name or a value of a form (WHATWG URL §5.2).
    static func encoded(_ text: String) -> String {
        let kept = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*-._ ")
        let escaped = text.addingPercentEncoding(withAllowedCharacters: kept) ?? text
        return escaped.replacingOccurrences(of: " ", with: "+")
    }

    private static func decoded(_ text: String, _ plusIsSpace: Bool) -> String {
        let text = plusIsSpace ? text.replacingOccurrences(of: "+", with: " ") : text
        return text.removingPercentEncoding ?? text
    }
}
