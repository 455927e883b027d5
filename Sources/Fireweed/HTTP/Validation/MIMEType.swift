// Media types, for validation and charsets.

import Foundation

/// A media type (RFC 9110 §8.3.1), or a media range with `*` for the type or subtype (§12.5.1).
package struct MIMEType: Equatable {
    package let type: String
    package let subtype: String
    /// The `charset` parameter, without quotes, in lower case.
    package let charset: String?
    /// Whether there is a `boundary` parameter (RFC 2046 §5.1.1).
    package let hasBoundary: Bool

    /// Reads `type/subtype; charset=…`; `nil` when type or subtype is missing, except for `*` alone.
    package init?(_ text: String) {
        // Split by scalars: in a `Character`, a combining mark would hide a semicolon or a slash.
        let parts = text.unicodeScalars.split(separator: ";", omittingEmptySubsequences: false).map { String($0) }
        let essence = parts[0].trimmingCharacters(in: .whitespaces).lowercased()
        if essence == "*" {
            (type, subtype, charset, hasBoundary) = ("*", "*", nil, false)
            return
        }
        let halves = essence.unicodeScalars.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, !halves[0].isEmpty, !halves[1].isEmpty else { return nil }
        type = String(halves[0])
        subtype = String(halves[1])
        charset = parts.dropFirst().lazy.compactMap { Self.value(of: "charset", in: $0) }.first
        hasBoundary = parts.dropFirst().contains { Self.value(of: "boundary", in: $0)?.isEmpty == false }
    }

    /// True for `*/*`.
    package var isWildcard: Bool { type == "*" && subtype == "*" }

    /// True for JSON (RFC 8259 §11), and for types with its structure (RFC 6839 §3.1).
    package var isJSON: Bool { subtype == "json" || subtype.utf8.suffix(5).elementsEqual("+json".utf8) }

    /// True when `other` matches this media type or range.
    package func matches(_ other: MIMEType) -> Bool {
        func fits(_ pattern: String, _ text: String) -> Bool { pattern == "*" || text == "*" || pattern == text }
        return fits(type, other.type) && fits(subtype, other.subtype)
    }

    private static func value(of name: String, in parameter: String) -> String? {
        let halves = parameter.unicodeScalars.split(separator: "=", maxSplits: 1).map { String($0) }
        guard halves.count == 2, halves[0].trimmingCharacters(in: .whitespaces).lowercased() == name else {
            return nil
        }
        return halves[1].trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'")).lowercased()
    }
}
