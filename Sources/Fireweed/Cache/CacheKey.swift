// What stored responses are found by (RFC 9111 §2).

import Foundation

/// The key of a target URI: the URI in one spelling, without fragment and user information (RFC 9110 §4.2.3).
///
/// The method is no part of it: only answers to GET are stored.
enum CacheKey {
    static func text(of url: URL) -> String {
        let whole = url.absoluteString.prefix { $0 != "#" }
        guard let colon = whole.firstIndex(of: ":") else { return String(whole) }
        let scheme = whole[..<colon].lowercased()
        let hierarchy = whole[colon...].dropFirst().drop { $0 == "/" }
        let authority = hierarchy.prefix { $0 != "/" && $0 != "?" }
        let path = hierarchy[authority.endIndex...]
        return "\(scheme)://\(host(authority, scheme: scheme))\(path.hasPrefix("/") ? "" : "/")\(path)"
    }

    /// Host and port without user information, in lower case, and without the scheme's own port.
    private static func host(_ authority: Substring, scheme: String) -> String {
        let host = authority.lastIndex(of: "@").map { authority[$0...].dropFirst() } ?? authority
        let lowered = host.lowercased()
        switch scheme {
        case "http" where lowered.hasSuffix(":80"): return String(lowered.dropLast(3))
        case "https" where lowered.hasSuffix(":443"): return String(lowered.dropLast(4))
        default: return lowered
        }
    }
}
