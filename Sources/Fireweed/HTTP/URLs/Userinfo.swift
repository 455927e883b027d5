// User and password in a URL.

import Foundation

/// Removes the userinfo from URLs (RFC 3986 §3.2.1): it is never sent as part of a URL.
package enum Userinfo {
    /// Returns a text without userinfo, query and fragment, for errors and logs; the text need not be a URL.
    ///
    /// Without `://`, everything up to an `@` counts as userinfo.
    static func removed(from text: String) -> String {
        guard let whole = hidden(in: text) else { return "…" }
        let bare = whole.unicodeScalars.prefix { $0 != "?" && $0 != "#" }
        let shown = bare.count < whole.unicodeScalars.count ? String(bare) + "…" : whole
        guard !shown.contains("://"), let at = shown.unicodeScalars.lastIndex(of: "@") else { return shown }
        return String(shown.unicodeScalars[at...].dropFirst())
    }

    /// The most passes over one text; each pass removes one userinfo, and the last pass must find none.
    private static let passLimit = 4

    /// Returns a URL or a URI reference without userinfo, even if it is malformed or relative.
    ///
    /// Users and servers also send `//user@host`, `http:/user@host` and `user:password@host`. The rest of a text may
    /// begin with userinfo again, which is removed too. The result is `nil` for a text with more than three userinfos.
    static func hidden(in text: String) -> String? {
        var text = text
        for _ in 0..<passLimit {
            let bare = withoutFirst(in: text)
            if bare.utf8.count == text.utf8.count { return text }
            text = bare
        }
        return nil
    }

    /// `://` with percent-encoding.
    private static let encodedSlashes = "%3A%2F%2F"

    private static func withoutFirst(in text: String) -> String {
        if let split = split(text) { return split.url }
        let scalars = text.unicodeScalars
        let start = scalars.firstIndex { $0.value > 0x20 } ?? scalars.endIndex
        let scheme = scalars[start...].prefix {
            $0.properties.isAlphabetic || "0123456789+-.".unicodeScalars.contains($0)
        }
        let hasScheme = !scheme.isEmpty && scalars[scheme.endIndex...].first == ":"
        let behindScheme = hasScheme ? scalars.index(after: scheme.endIndex) : start
        let slashes = scalars[behindScheme...].prefix { $0 == "/" || $0 == "\\" }
        // A single slash begins a path: there is no authority.
        guard hasScheme || slashes.count != 1 else { return text }
        let encoded = scalars[scheme.endIndex...].prefix(encodedSlashes.unicodeScalars.count)
        let hasEncodedSlashes = !scheme.isEmpty && String(encoded).uppercased() == encodedSlashes
        let place = hasEncodedSlashes ? encoded.endIndex : slashes.isEmpty ? start : slashes.endIndex
        let authority = scalars[place...].prefix { !"/\\?#".unicodeScalars.contains($0) }
        guard let at = authority.lastIndex(of: "@") else { return text }
        if slashes.isEmpty, !isUserinfo(authority[..<at]) { return text }
        return String(scalars[..<place]) + String(scalars[at...].dropFirst())
    }

    /// Whether the text before an `@` has a password; a mail address, or a sentence with one, has none.
    private static func isUserinfo(_ text: Substring.UnicodeScalarView) -> Bool {
        text.contains(":") && !text.contains(where: \.properties.isWhitespace)
    }

    /// The URL without its userinfo, and user and password without percent-encoding; `nil` when the URL has no
    /// userinfo.
    package static func split(_ text: String) -> (url: String, user: String, password: String)? {
        // Parsed by scalars: in a `Character`, a combining mark would hide a slash or an `@`.
        let scalars = text.unicodeScalars
        guard let scheme = scalars.firstRange(of: "://".unicodeScalars) else { return nil }
        let rest = scalars[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return nil }
        let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map { String($0).removingPercentEncoding ?? String($0) }
        return (
            String(scalars[..<scheme.upperBound]) + String(rest[rest.index(after: at)...]), decoded.first ?? "",
            decoded.count > 1 ? decoded[1] : ""
        )
    }
}
