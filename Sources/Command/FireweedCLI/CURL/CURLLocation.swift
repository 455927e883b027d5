// The targets of redirects, as curl writes them.

import Foundation

/// Percent-encodes the characters of a `Location` that a URL cannot contain, as curl does.
enum CURLLocation {
    /// Returns the target of a redirect from `base`: a space in the query becomes `+`, and percent-encodings are in
    /// lower case.
    ///
    /// `nil` if the result is not a URL, or if nothing has to be encoded: in that case the rules of RFC 3986 apply.
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
