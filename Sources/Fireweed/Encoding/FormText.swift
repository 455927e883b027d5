// Form-encoded text of encoded values.

import Foundation

/// A node of an encoded value: an object with ordered keys, an array, text or `nil`.
indirect enum FormNode {
    case object([(key: String, node: FormNode)])
    case array([FormNode])
    case text(String)
    /// A `nil`; the options say whether it is written.
    case null

    var kind: String {
        switch self {
        case .object: "object"
        case .array: "array"
        case .text, .null: "single value"
        }
    }
}

/// Writes a tree as `name=value` pairs.
struct FormText {
    private let options: URLEncodedFormEncoder
    private let kept: QueryText.UnescapedCharacters
    private let spacesArePluses: Bool

    init(options: URLEncodedFormEncoder) {
        self.options = options
        spacesArePluses = options.spaceEncoding == .plusReplaced
        if !spacesArePluses, options.allowedCharacters == .afURLQueryAllowed {
            kept = .standard
        } else {
            var allowed = options.allowedCharacters
            if spacesArePluses {
                allowed.insert(" ")
                allowed.remove("+")  // an unescaped plus means a space
            }
            kept = QueryText.UnescapedCharacters(allowed)
        }
    }

    func text(of node: FormNode) -> String {
        pairs(of: node, named: nil) ?? ""
    }

    /// The pairs of a node; `nil` when there are none.
    ///
    /// The root has no name (`nil`), which differs from an empty name. `outer` is the node's whole name before key
    /// encoding. The key encoding changes the whole name of each pair, brackets included, as in Alamofire.
    private func pairs(of node: FormNode, named outer: String?) -> String? {
        let name = outer ?? ""
        switch node {
        case .text(let value): return pair(name, value)
        case .null: return options.nilEncoding.encodeNil().map { pair(name, $0) }
        case .array(let elements):
            return joined(
                elements.enumerated().compactMap { pairs(of: $0.element, named: elementName(name, $0.offset)) })
        case .object(let members):
            return joined(
                members.compactMap { key, node in
                    pairs(of: node, named: outer == nil ? key : name + options.keyPathEncoding.encodeSubkey(key))
                })
        }
    }

    private func pair(_ name: String, _ value: String) -> String {
        "\(escaped(options.keyEncoding.encode(name)))=\(escaped(value))"
    }

    /// Joins the pairs of one level; with `alphabetizeKeyValuePairs`, the members or elements are first sorted by their
    /// whole encoded text.
    private func joined(_ segments: [String]) -> String? {
        guard !segments.isEmpty else { return nil }
        return (options.alphabetizeKeyValuePairs ? segments.sorted() : segments).joined(separator: "&")
    }

    private func elementName(_ name: String, _ index: Int) -> String {
        switch options.arrayEncoding {
        case .brackets: "\(name)[]"
        case .noBrackets: name
        case .indexInBrackets: "\(name)[\(index)]"
        case .custom(let encode): encode(name, index)
        }
    }

    private func escaped(_ text: String) -> String {
        let escaped = QueryText.escaped(text, keeping: kept)
        return spacesArePluses && escaped.utf8.contains(UInt8(ascii: " "))
            ? escaped.replacingOccurrences(of: " ", with: "+") : escaped
    }
}

extension URLEncodedFormEncoder.KeyEncoding {
    func encode(_ key: String) -> String {
        switch self {
        case .useDefaultKeys: key
        case .convertToSnakeCase: Self.words(of: key).joined(separator: "_")
        case .convertToKebabCase: Self.words(of: key).joined(separator: "-")
        case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
        case .uppercased: key.uppercased()
        case .lowercased: key.lowercased()
        case .custom(let encode): encode(key)
        }
    }

    /// The words of a camel-case name, in lower case; a run of capitals is one word; its last capital begins the next
    /// word if a lower-case letter follows.
    private static func words(of key: String) -> [String] {
        let characters = Array(key)
        var words: [String] = []
        var word = ""
        for (index, character) in characters.enumerated() {
            let follows = index + 1 < characters.count ? characters[index + 1] : nil
            let previous = index > 0 ? characters[index - 1] : nil
            let begins =
                character.isUppercase
                && (previous?.isUppercase == false || (previous != nil && follows?.isLowercase == true))
            if begins && !word.isEmpty {
                words.append(word.lowercased())
                word = ""
            }
            word.append(character)
        }
        return words + (word.isEmpty ? [] : [word.lowercased()])
    }
}
