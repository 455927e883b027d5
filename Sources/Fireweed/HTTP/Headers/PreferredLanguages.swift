// The languages of the user, from the environment.

/// Reads the variables by which gettext(3) chooses the language of messages.
enum PreferredLanguages {
    /// The languages in the order of preference, as tags of RFC 5646; empty in the locales `C` and `POSIX`.
    ///
    /// `variable` returns the value of an environment variable.
    static func list(_ variable: (_ name: String) -> String?) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? "C"
        // As for gettext(3), `LANGUAGE` counts only if the locale has a language.
        guard let own = tag(of: locale) else { return [] }
        let listed = (variable("LANGUAGE") ?? "").unicodeScalars.split(separator: ":").compactMap {
            tag(of: String($0))
        }
        return (listed + [own]).reduce(into: []) { list, tag in if !list.contains(tag) { list.append(tag) } }
    }

    /// The tag of a locale, `language[_TERRITORY][.codeset][@modifier]`; `nil` when the locale has no language.
    private static func tag(of locale: String) -> String? {
        let halves = locale.unicodeScalars.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(halves[0].prefix { $0 != "." })
        guard name != "C", name != "POSIX" else { return nil }
        var parts = name.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "_" || $0 == "-" }
            .map { String($0) }
        guard (2...8).contains(parts[0].utf8.count), parts[0].utf8.allSatisfy({ ($0 | 0x20) &- 0x61 < 26 }),
            parts.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(isLetterOrDigit) })
        else { return nil }
        if halves.count > 1, let script = scripts[String(halves[1])] { parts.insert(script, at: 1) }
        return parts.joined(separator: "-")
    }

    /// The scripts that locales name by a modifier.
    private static let scripts = ["latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva"]

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10
    }
}
