// The parsing of a `Set-Cookie` field.

package import Foundation

/// A parsed `Set-Cookie` field (RFC 6265 §5.2); of several attributes of one name the last one counts.
package struct SetCookie: Equatable {
    package let name: String
    package let value: String
    /// The date in `Expires`; `nil` when the attribute is absent or cannot be parsed.
    package private(set) var expires: Date?
    /// The seconds in `Max-Age`; with zero or less, the cookie expires at once.
    package private(set) var maximumAge: TimeInterval?
    /// The domain in `Domain`, without a leading dot and in lower case.
    package private(set) var domain: String?
    /// The path in `Path`; `nil` for the default path.
    package private(set) var path: String?
    package private(set) var isSecure = false
    package private(set) var isHTTPOnly = false
    /// Name, `=` and value as received, when they are not UTF-8; `name` and `value` then show octets as characters of
    /// ISO-8859-1.
    package private(set) var octets: [UInt8]?

    /// Longest name and value together, in bytes (RFC 6265 §6.1).
    static let maximumByteCount = 4096
    /// Longest value of an attribute; an attribute with a longer value is ignored.
    private static let maximumAttributeByteCount = 1024

    /// Reads the received bytes of a field's value; `nil` in the same cases as `init(_:)` for a string.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        if let line = String(validating: bytes, as: UTF8.self) {
            self.init(line)
        } else {
            self.init(String(decoding: bytes.map(UInt16.init), as: UTF16.self), isLatin1: true)
        }
    }

    /// Reads a field; `nil` when it has neither name nor value, is too long, or has control characters.
    ///
    /// Without `=` before the first semicolon there is no name, and everything is the value (RFC 6265bis §5.6).
    package init?(_ line: String) {
        self.init(line, isLatin1: false)
    }

    private init?(_ line: String, isLatin1: Bool) {
        // RFC 6265 has no rule for control characters; RFC 6265bis drops the cookie.
        guard !line.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return nil }
        // Split by scalars: in a `Character`, a combining mark would hide a semicolon.
        let parts = line.unicodeScalars.split(separator: ";", omittingEmptySubsequences: false)
        guard let pair = parts.first, let halves = Self.halves(pair) else { return nil }
        name = halves.value == nil ? "" : halves.name
        value = halves.value ?? halves.name
        let byteCount =
            isLatin1 ? name.unicodeScalars.count + value.unicodeScalars.count : name.utf8.count + value.utf8.count
        guard (1...Self.maximumByteCount).contains(byteCount) else { return nil }
        if isLatin1 { octets = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
        for part in parts.dropFirst() {
            guard let (name, value) = Self.halves(part) else { continue }
            let text = value ?? ""
            if text.utf8.count <= Self.maximumAttributeByteCount { take(name.lowercased(), text) }
        }
    }

    /// Name and value as a `Cookie` field has them: without `=` where there is no name.
    package var text: String { name.isEmpty ? value : "\(name)=\(value)" }

    private mutating func take(_ attribute: String, _ value: String) {
        switch attribute {
        case "expires": expires = CookieDate.parse(value) ?? expires
        case "max-age": maximumAge = Self.seconds(value) ?? maximumAge
        case "domain" where !value.isEmpty:
            let scalars = value.unicodeScalars
            domain = String(scalars.first == "." ? scalars.dropFirst() : scalars[...]).lowercased()
        case "path": path = value.utf8.first == UInt8(ascii: "/") ? value : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        default: break  // also `SameSite`: no request here is made by a page of another site
        }
    }

    /// Reads a number of digits, with or without a leading `-` (§5.2.2).
    private static func seconds(_ text: String) -> TimeInterval? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return TimeInterval(text)  // any number of digits; the caller has a limit
    }

    /// Name and value without the white space around them; the value is `nil` without `=`.
    private static func halves(_ part: Substring.UnicodeScalarView) -> (name: String, value: String?)? {
        let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = halves.first else { return nil }
        return (trimmed(name), halves.count > 1 ? trimmed(halves[1]) : nil)
    }

    private static func trimmed(_ text: Substring.UnicodeScalarView) -> String {
        let rest = text.drop(while: isSpace)
        guard let last = rest.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(rest[...last])
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\t"
    }
}
