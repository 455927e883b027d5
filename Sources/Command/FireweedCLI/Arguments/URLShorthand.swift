// Short forms of URLs; pure.

import CommandLanguage
import Fireweed
import Foundation

/// Expands the short URLs that people type.
enum URLShorthand {
    /// Returns the full URL: if the scheme is missing, `:8080/x` and loopback hosts get http, others https; throws
    /// `UsageError`.
    ///
    /// `schemes` are the schemes that a URL may have. Every URL without a scheme gets `scheme`, even for a loopback
    /// host; `nil` applies the rule above.
    static func expanded(
        _ text: String, schemes: (clear: String, secure: String) = ("http", "https"), default scheme: String? = nil
    ) throws -> String {
        try parsed(text, schemes: schemes, default: scheme).text
    }

    /// Returns the URL without user and password, as text and parsed, and the decoded `USER:PASSWORD`.
    ///
    /// Accepts what `expanded(_:schemes:default:)` accepts; throws `UsageError`.
    static func read(_ text: String, default scheme: String?) throws -> (text: String, url: URL?, userInfo: String?) {
        let (full, url) = try parsed(text, schemes: ("http", "https"), default: scheme)
        let (address, userInfo) = withoutUserInfo(full)
        return (address, address == full ? url : try? address.asURL(), userInfo)
    }

    private static func parsed(
        _ text: String, schemes: (clear: String, secure: String), default scheme: String?
    ) throws -> (text: String, url: URL) {
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            let shown = withoutUserInfo(text).url.debugDescription
            throw UsageError(message: "\(shown) has a control character in it, such as a line break")
        }
        let start = text.prefix { $0 != "/" }
        if text.dropFirst(start.count).first == "/", !text.dropFirst(start.count).hasPrefix("//"),
            ["http:", "https:", "ws:", "wss:"].contains(start.lowercased())
        {
            let shown =
                "\(start)//\(withoutUserInfo("\(start)/\(text.dropFirst(start.count))").url.dropFirst(start.count + 2))"
            throw UsageError(message: "\(start)/ lacks a slash; is \(shown) meant?")
        }
        var full = text
        if let given = self.scheme(of: text) {
            guard [schemes.clear, schemes.secure].contains(given.lowercased()) else {
                throw UsageError(
                    message:
                        "\"\(text)\" has the scheme \(given); only \(schemes.clear) and \(schemes.secure) can be sent"
                )
            }
        } else {
            var rest = text
            for prefix in ["://", "//"] where rest.hasPrefix(prefix) { rest.removeFirst(prefix.count) }
            if rest.hasPrefix(":") {
                let port = rest.dropFirst()
                guard port.first.map({ $0.isNumber || "/?#".contains($0) }) ?? true else {
                    throw UsageError(message: "\"\(text)\" is not a URL: a port or a path follows the colon")
                }
                rest = port.first?.isNumber == true ? "localhost\(rest)" : "localhost\(port)"
            }
            if let end = rest.firstRange(of: "://"), !rest[..<end.lowerBound].contains(where: { "/?#".contains($0) }) {
                throw UsageError(message: "\"\(text)\" has a scheme that is not one")
            }
            guard !isItem(rest) else {
                throw UsageError(
                    message: "\"\(text)\" is not a URL: items stand behind it, and -d and -b are others than curl's")
            }
            full = "\(scheme ?? (isLoopback(rest) ? schemes.clear : schemes.secure))://\(rest)"
        }
        guard let url = try? full.asURL(), url.host?.isEmpty == false else {
            throw UsageError(message: "\"\(withoutUserInfo(text).url)\" is not a URL")
        }
        try checkPort(of: url, text)
        return (full, url)
    }

    /// Throws `UsageError` for the URL of a text whose port is not one.
    static func checkPort(of url: URL, _ text: String) throws {
        guard url.port.map((1...65_535).contains) ?? true else {
            throw UsageError(message: "\"\(withoutUserInfo(text).url)\" has a port that is not from 1 to 65535")
        }
    }

    /// Returns the text before `://`, if it is a scheme (RFC 3986 §3.1): `h.example/?next=https://…` has none.
    private static func scheme(of text: String) -> String? {
        // A scheme contains no colon, so only the first colon can end it.
        guard let end = text.utf8.firstIndex(of: UInt8(ascii: ":")), text.utf8[end...].starts(with: "://".utf8) else {
            return nil
        }
        func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
        let scheme = text[..<end]
        let isScheme = scheme.utf8.allSatisfy { byte in
            isLetter(byte) || (0x30...0x39).contains(byte) || byte == 0x2B || byte == 0x2D || byte == 0x2E
        }
        return isScheme && scheme.utf8.first.map(isLetter) == true ? String(scheme) : nil
    }

    /// Whether a word without a scheme is an item, or a file of content.
    ///
    /// If it were accepted as a URL, its text would be looked up as a host, or sent to a proxy.
    private static func isItem(_ text: String) -> Bool {
        text.hasPrefix("@") || place(of: text).contains { "=&{\"".contains($0) }
    }

    /// Returns the host and port of a URL without a scheme.
    private static func place(of text: String) -> Substring {
        let authority = text.prefix { !"/?#".contains($0) }
        return authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    }

    private static func isLoopback(_ text: String) -> Bool {
        let place = place(of: text)
        let host = place.prefix { $0 != ":" }.lowercased()
        return host == "localhost" || host.hasPrefix("127.") || host.hasSuffix(".localhost")
            || place.hasPrefix("[::1]")
    }

    /// Returns the URL without user and password, and the decoded `USER:PASSWORD`.
    static func withoutUserInfo(_ text: String) -> (url: String, userInfo: String?) {
        // The fast path: most URLs have no user, and a list may have millions of URLs.
        guard text.utf8.contains(UInt8(ascii: "@")),
            let start: String.Index = text.firstRange(of: "://")?.upperBound
        else { return (text, nil) }
        let end: String.Index = text[start...].firstIndex { "/?#".contains($0) } ?? text.endIndex
        guard let at: String.Index = text[start..<end].lastIndex(of: "@") else { return (text, nil) }
        let halves = text[start..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.removingPercentEncoding ?? String($0) }
        let userInfo = "\(halves[0]):\(halves.count > 1 ? halves[1] : "")"
        let url = String(text[..<start]) + String(text[text.index(after: at)...])
        return (url, userInfo == ":" ? nil : userInfo)
    }
}
