// The URL of a curl command.

import Foundation

/// Reads a URL of a command line as curl does.
enum CURLTarget {
    /// The URL, with `http` where it has no scheme; throws for patterns that stand for several, and for schemes other
    /// than HTTP's.
    static func url(_ text: String, query: String?, isLiteral: Bool) throws -> URL {
        guard var full = isLiteral ? text : withoutPatterns(text) else { throw CURLParsingError.invalidURL(text) }
        if !full.contains("://") { full = "http://\(full)" }
        if let query, !query.isEmpty {
            let end = full.firstIndex(of: "#") ?? full.endIndex
            full.insert(contentsOf: (full[..<end].contains("?") ? "&" : "?") + query, at: end)
        }
        guard let url = URL(string: full), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            url.host?.isEmpty == false
        else { throw CURLParsingError.invalidURL(text) }
        return url
    }

    /// The URL without the backslashes before brackets and braces, as browsers write them; `nil` when it has a pattern.
    ///
    /// The brackets of an IPv6 address are not a pattern.
    private static func withoutPatterns(_ text: String) -> String? {
        let authorityEnd = authority(of: text).upperBound
        var result = ""
        var isEscaped = false
        for index in text.indices {
            let character = text[index]
            if isEscaped {
                if !"[]{}".contains(character) { result.append("\\") }
                result.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if "[]{}".contains(character), index >= authorityEnd || "{}".contains(character) {
                return nil
            } else {
                result.append(character)
            }
        }
        return isEscaped ? result + "\\" : result
    }

    private static func authority(of text: String) -> Range<String.Index> {
        let start = text.range(of: "://")?.upperBound ?? text.startIndex
        return start..<(text[start...].firstIndex { "/?#".contains($0) } ?? text.endIndex)
    }
}
