// User and password in a URL.

import Foundation

/// Removes the userinfo from URLs (RFC 3986 §3.2.1): it is never sent as part of a URL.
package enum Userinfo {
    /// A text that may not be a URL, without userinfo, query and fragment: what errors and logs may show.
    ///
    /// Without `://`, everything up to an `@` counts as userinfo.
    static func removed(from text: String) -> String {
        let whole = split(text)?.url ?? text
        let bare = whole.unicodeScalars.prefix { $0 != "?" && $0 != "#" }
        let shown = bare.count < whole.unicodeScalars.count ? String(bare) + "…" : whole
        guard !shown.contains("://"), let at = shown.unicodeScalars.lastIndex(of: "@") else { return shown }
        return String(shown.unicodeScalars[at...].dropFirst())
    }

    /// The URL without its userinfo, and user and password without percent-encoding; `nil` when the URL has no
    /// userinfo.
    package static func split(_ text: String) -> (url: String, user: String, password: String)? {
        // By scalars: a character that combines with a slash or an `@` does not hide it.
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
