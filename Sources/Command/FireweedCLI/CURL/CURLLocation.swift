// The targets of redirects, as curl writes them.

import Foundation

/// A `Location` with characters that no URL can have, and so has an escape for in curl's way.
enum CURLLocation {
    /// The target of a redirect from `base`: a space of the query is `+`, and escapes are in lower case.
    ///
    /// `nil` where nothing has to be escaped: the target is that of RFC 3986 then.
    static func url(_ location: String, from base: URL) -> URL? {
        var (text, isInQuery) = ("", false)
        for byte in location.utf8 {
            if byte == UInt8(ascii: "?") { isInQuery = true }
            if byte == UInt8(ascii: " ") {
                text += isInQuery ? "+" : "%20"
            } else if byte < 0x80 {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + String(byte, radix: 16)
            }
        }
        guard text != location, let url = URL(string: text, relativeTo: base)?.absoluteURL,
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        else { return nil }
        parts.percentEncodedPath = DotSegments.removed(from: parts.percentEncodedPath)
        return parts.url
    }
}
