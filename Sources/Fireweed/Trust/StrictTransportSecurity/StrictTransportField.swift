// Parsing of the `Strict-Transport-Security` field.

import FireweedTransport

/// The directives of a `Strict-Transport-Security` field (RFC 6797 §6.1).
package struct StrictTransportField: Equatable {
    /// For how many seconds the host is to be reached over TLS only; zero ends the policy.
    package let maxAge: Int
    package let includesSubdomains: Bool

    /// Reads a field's value; `nil` when it breaks the grammar: the whole field is then ignored.
    package init?(_ text: String) {
        var directives: [String: String?] = [:]
        for part in Self.parts(of: text) {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = halves[0].trimmed.lowercased()
            if name.isEmpty, halves.count == 1 { continue }  // empty directives are allowed
            guard name.isToken, directives[name] == nil else { return nil }
            directives[name] = .some(halves.count == 2 ? Self.unquoted(halves[1].trimmed) : nil)
        }
        guard case .some(.some(let age)) = directives["max-age"], !age.isEmpty,
            age.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
        else { return nil }
        if case .some(.some) = directives["includesubdomains"] { return nil }  // it takes no value
        maxAge = Int(age) ?? .max
        includesSubdomains = directives["includesubdomains"] != nil
    }

    /// Splits the value at semicolons outside quotes.
    ///
    /// The value is split by scalars: in a `Character`, a combining mark after a semicolon would hide the semicolon.
    private static func parts(of text: String) -> [Substring] {
        var parts: [Substring] = []
        let scalars = text.unicodeScalars
        var start = scalars.startIndex
        var isQuoted = false
        for index in scalars.indices {
            if scalars[index] == "\"" { isQuoted.toggle() }
            guard scalars[index] == ";", !isQuoted else { continue }
            parts.append(Substring(scalars[start..<index]))
            start = scalars.index(after: index)
        }
        return parts + [Substring(scalars[start...])]
    }

    private static func unquoted(_ text: String) -> String {
        guard text.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
        return String(text.dropFirst().dropLast())
    }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
