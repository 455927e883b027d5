// Secrets in URLs.

import Foundation

extension Redaction {
    /// How many nested encodings are searched; deeper values are replaced.
    private static let depthLimit = 6

    /// Returns a URL without userinfo, and without the secrets in its path, query and fragment.
    ///
    /// A secret becomes `[redacted]`. Text that is no URL is searched in the same way.
    ///
    /// - Parameter text: the URL.
    /// - Returns: the URL to write down.
    public func text(ofURL text: String) -> String {
        self.text(ofURL: text, depth: 0)
    }

    private func text(ofURL text: String, depth: Int) -> String {
        guard let bare = Userinfo.hidden(in: text) else { return replacement }
        guard !ignoresParameters else { return bare }
        let halves = cleanedPath(bare).unicodeScalars.split(
            separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        return halves.map { half in
            half.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
                .map { pairs(in: $0, depth: depth) }.joined(separator: "?")
        }.joined(separator: "#")
    }

    // MARK: Paths

    /// A URL, or a path that begins with a slash, without the secrets in its path.
    private func cleanedPath(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let end = scalars.firstIndex { $0 == "?" || $0 == "#" } ?? scalars.endIndex
        guard let start = text.hasPrefix("/") ? text.startIndex : text.range(of: "://")?.upperBound, start < end
        else { return text }
        var segments = scalars[start..<end].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        // The first segment is the authority, or empty.
        for index in segments.indices.dropFirst() where isSecret(segments[index], behind: segments[index - 1], index) {
            segments[index] = replacement
        }
        return "\(text[..<start])\(segments.joined(separator: "/"))\(text[end...])"
    }

    /// Whether a path segment is a JSON Web Token (RFC 7519), or the value of a secret that the previous segment names.
    ///
    /// A value has a digit or at least 20 bytes: the words in `/auth/login` and `/session/new` are no secrets.
    private func isSecret(_ segment: String, behind name: String, _ index: Int) -> Bool {
        guard segment != replacement else { return false }
        if segment.hasPrefix("eyJ"), segment.unicodeScalars.count(where: { $0 == "." }) == 2 { return true }
        guard index > 1, !segment.contains("="), isSecret(parameter: name) else { return false }
        return segment.utf8.count >= 20 || segment.utf8.contains { (0x30...0x39).contains($0) }
    }

    // MARK: Pairs

    /// The pairs of a query, a fragment, a path or a form, without secrets, in their order and with their separators.
    func pairs(in query: Substring.UnicodeScalarView) -> String {
        pairs(in: query, depth: 0)
    }

    /// Compares scalars: in a `Character`, a combining mark after `&` or `=` would hide the separator.
    private func pairs(in query: Substring.UnicodeScalarView, depth: Int) -> String {
        var result = ""
        var rest = query
        while true {
            let end = rest.firstIndex { $0 == "&" || $0 == ";" } ?? rest.endIndex
            result += pair(rest[..<end], depth: depth)
            guard end != rest.endIndex else { return result }
            result.unicodeScalars.append(rest[end])
            rest = rest[rest.index(after: end)...]
        }
    }

    private func pair(_ pair: Substring.UnicodeScalarView, depth: Int) -> String {
        guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
        let (name, value) = (pair[..<equals], pair[pair.index(after: equals)...])
        // In a path, the name is the last segment before the equals sign.
        let word = name.lastIndex(of: "/").map { name[name.index(after: $0)...] } ?? name
        if isSecret(parameter: String(word)) { return String(name) + "=" + replacement }
        // Without any of these characters, a value contains no pairs, even if it contains an equals sign.
        guard value.contains(where: { "%?#@".unicodeScalars.contains($0) }) || String(value).contains("://") else {
            return String(pair)
        }
        return String(name) + "=" + (cleaned(String(value), depth: depth + 1) ?? String(value))
    }

    /// Returns a value without the secrets of the JSON, URL or parameters in it, percent-encoded or not; `nil` when it
    /// has no secrets.
    func cleaned(_ value: String) -> String? {
        ignoresParameters ? nil : cleaned(value, depth: 0)
    }

    private func cleaned(_ value: String, depth: Int) -> String? {
        guard value.unicodeScalars.contains(where: { "=%:@".unicodeScalars.contains($0) }) else { return nil }
        guard depth < Self.depthLimit else { return replacement }
        if let clean = cleanedJSON(value) { return clean }
        let clean = text(ofURL: value, depth: depth)
        // The percent-decoded text may have further secrets.
        guard let decoded = clean.removingPercentEncoding, decoded != clean,
            let deeper = cleaned(decoded, depth: depth + 1)
        else { return clean == value ? nil : clean }
        return deeper == replacement
            ? deeper : QueryText.escaped(deeper, keeping: QueryText.UnescapedCharacters(.alphanumerics))
    }
}
