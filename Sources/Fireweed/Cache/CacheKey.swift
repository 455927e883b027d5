// What stored responses are found by (RFC 9111 §2).

import Foundation

/// The key of a target URI: the URI in one spelling, without fragment and user information (RFC 9110 §4.2.3).
///
/// The method is no part of it: only answers to GET are stored.
enum CacheKey {
    static func text(of url: URL) -> String {
        let text = url.absoluteString
        return isNormal(text) ? text : normalised(text)
    }

    /// True for what most URLs are: nothing has to be changed.
    private static func isNormal(_ text: String) -> Bool {
        var slashCount = 0
        // The number at the end of the authority, which may be the scheme's own port.
        var digits = 0
        for byte in text.utf8 {
            switch byte {
            case 0x2F:
                slashCount += 1
                if slashCount == 3, digits == 80 || digits == 443 { return false }
            case 0x23: return false
            case 0x41...0x5A, 0x40, 0x3F: if slashCount < 3 { return false }
            case 0x3A: digits = 0
            case 0x30...0x39: if slashCount < 3 { digits = (digits * 10 + Int(byte & 15)) % 100_000 }
            default: break
            }
        }
        return slashCount >= 3
    }

    private static func normalised(_ text: String) -> String {
        let whole = text.prefix { $0 != "#" }
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
