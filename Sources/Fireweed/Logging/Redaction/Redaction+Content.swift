// Secrets in content.

import FireweedTransport
package import Foundation

extension Redaction {
    /// Returns content without its secrets: the values of secret parameters and fields in forms, JSON, JSON Lines, XML
    /// and server-sent events are replaced.
    ///
    /// Content of another type is removed, unless content of that type has no parameters, as with images. Without any
    /// names of parameters, content stays unchanged.
    package func content(_ data: Data, type: String?) -> Data {
        guard !ignoresParameters, !data.isEmpty else { return data }
        if let clean = searchedContent(data, type: type) { return clean }
        let type = (type ?? "").lowercased()
        return Self.plainTypes.contains { type.hasPrefix($0) } ? data : Data(replacement.utf8)
    }

    /// Whether secrets are searched for in content of this type.
    package static func isSearched(type: String?) -> Bool {
        let type = (type ?? "").lowercased()
        return searchedTypes.contains { type.contains($0) }
    }

    /// Returns the content without secrets if its type is searched; `nil` for another type.
    ///
    /// Content of a searched type is removed if it cannot be parsed.
    func searchedContent(_ data: Data, type: String?) -> Data? {
        let type = (type ?? "").lowercased()
        if type.contains("x-www-form-urlencoded") {
            return Data(pairs(in: String(decoding: data, as: UTF8.self).unicodeScalars[...]).utf8)
        }
        if Self.lineTypes.contains(where: { type.contains($0) }) {
            return Data(jsonLines(data).map { $0 ?? Data(replacement.utf8) }.joined(separator: [Self.lineFeed]))
        }
        if type.contains("json") { return json(data, .fragmentsAllowed) ?? wholeJSONLines(data) }
        guard Self.isSearched(type: type) else { return nil }
        guard let text = String(data: data, encoding: .utf8) else { return Data(replacement.utf8) }
        let clean = type.contains("event-stream") ? eventStream(text) ?? text : xml(text) ?? replacement
        return clean == text ? data : Data(clean.utf8)
    }

    /// The types that are searched; `json` also stands for the types in `lineTypes`.
    private static let searchedTypes = ["x-www-form-urlencoded", "json", "event-stream", "/xml", "+xml"]
    private static let lineTypes = ["ndjson", "jsonl", "json-lines", "json-seq"]
    /// Types whose content has no parameters; SVG is absent, since XML may have parameters.
    private static let plainTypes = [
        "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/x-icon", "audio/", "video/", "font/",
        "text/css",
    ]

    /// Returns JSON without secrets; `nil` when it does not parse, perhaps because it was cut.
    private func json(_ data: Data, _ options: JSONSerialization.ReadingOptions = []) -> Data? {
        guard let object = try? JSONSerialization.jsonObject(with: data, options: options) else { return nil }
        let (clean, hasChanged) = json(object, depth: 0)
        guard hasChanged else { return data }
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed]
        return (try? JSONSerialization.data(withJSONObject: clean, options: options)) ?? Data(replacement.utf8)
    }

    private static let lineFeed = UInt8(ascii: "\n")

    /// Returns each line, or each record after a separator (RFC 7464), without secrets; `nil` for a line that is no
    /// JSON object or array.
    private func jsonLines(_ data: Data) -> [Data?] {
        let recordSeparator = UInt8(0x1E)
        let lines = data.split(omittingEmptySubsequences: false) { $0 == Self.lineFeed || $0 == recordSeparator }
        return lines.map { line in
            let isBlank = line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            return isBlank ? line : json(line)
        }
    }

    /// Returns JSON Lines whose content type is JSON; all of them are replaced unless each line parses, since a line of
    /// truncated JSON may show a secret.
    private func wholeJSONLines(_ data: Data) -> Data {
        let lines = jsonLines(data).compactMap { $0 }
        let count = data.count { $0 == Self.lineFeed || $0 == 0x1E } + 1
        return lines.count == count ? Data(lines.joined(separator: [Self.lineFeed])) : Data(replacement.utf8)
    }

    /// Returns a JSON text with its secrets replaced; `nil` if it has no secrets, or is no JSON object or array.
    func cleanedJSON(_ text: String) -> String? {
        guard let first = text.unicodeScalars.first(where: { !" \t\r\n".unicodeScalars.contains($0) }),
            first == "{" || first == "["
        else { return nil }
        let data = Data(text.utf8)
        return json(data).flatMap { $0 == data ? nil : String(decoding: $0, as: UTF8.self) }
    }

    func isSecret(member name: String) -> Bool { isSecret(parameter: name) || isSecret(field: name) }

    /// Whether an object is a pair of a name and a value, as in `{"name": "password", "value": "…"}`, with the name of
    /// a secret.
    private func isSecretPair(_ members: [String: Any]) -> Bool {
        guard members.keys.contains(where: { $0.isEqualIgnoringASCIICase("value") }) else { return false }
        return ["name", "key", "field", "header"].contains { word in
            members.contains { name, value in
                name.isEqualIgnoringASCIICase(word) && (value as? String).map { isSecret(member: $0) } == true
            }
        }
    }

    private func json(_ value: Any, depth: Int) -> (value: Any, hasChanged: Bool) {
        guard depth < 64 else { return (replacement, true) }
        switch value {
        case let members as [String: Any]:
            var clean: [String: Any] = [:]
            var hasChanged = false
            let isPair = isSecretPair(members)
            for (name, member) in members {
                let isSecret = isSecret(member: name) || isPair && name.isEqualIgnoringASCIICase("value")
                let made = isSecret ? (replacement, true) : json(member, depth: depth + 1)
                clean[name] = made.0
                hasChanged = hasChanged || made.1
            }
            return (clean, hasChanged)
        case let elements as [Any]:
            let made = elements.map { json($0, depth: depth + 1) }
            return (made.map(\.value), made.contains(where: \.hasChanged))
        case let text as String:
            guard let clean = cleaned(text) else { return (text, false) }
            return (clean, true)
        default: return (value, false)
        }
    }
}
