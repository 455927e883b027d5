// From the tree of a value to form-encoded text.

import Foundation

/// What a value encodes into: keys in their order, elements, or text.
indirect enum FormNode {
    case object([(key: String, node: FormNode)])
    case array([FormNode])
    case text(String)
    /// A `nil`, which the options may drop.
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
    private let kept: QueryText.Kept
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
                allowed.remove("+")  // it would be read as a space
            }
            kept = QueryText.Kept(allowed)
        }
    }

    func text(of node: FormNode) -> String {
        pairs(of: node, named: nil) ?? ""
    }

    /// A node's pairs, `nil` when there are none; the root has no name, which is not the same as an empty one.
    ///
    /// `outer` is the whole name of the node in its keys' own spelling. The key encoding is applied to the whole name
    /// of each pair, brackets included, as Alamofire does.
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

    /// One level of pairs; sorted by the encoded text of each member or element, with everything inside it.
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

    /// The words of a camel-case name, in lower case; a run of capitals is one word, but its last begins the next one.
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
