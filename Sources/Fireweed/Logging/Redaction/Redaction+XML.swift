// Secrets in XML.

import Foundation

extension Redaction {
    /// Returns XML without secrets; `nil` when it cannot be searched, because it is truncated or malformed, or may
    /// define entities.
    func xml(_ text: String) -> String? { xml(text, depth: 0) }

    /// `depth` is the number of documents around this one.
    fileprivate func xml(_ text: String, depth: Int) -> String? {
        var search = XMLSearch(text, redaction: self, depth: depth)
        return search.clean()
    }
}

/// Copies XML tag by tag, without the text of secret elements and the values of secret attributes.
///
/// An element that has the name of a secret as the value of an attribute (`<property name="password" value="…">…`) is a
/// secret, like such an object in JSON. Namespace prefixes are ignored: `wsse:Password` is `Password`.
private struct XMLSearch {
    private let redaction: Redaction
    private let depth: Int
    private var rest: Substring.UnicodeScalarView
    private var result = String.UnicodeScalarView()
    /// For each open element, whether its text is secret.
    private var open: [Bool] = []

    /// Documents nested in text deeper than this are replaced.
    private static let depthLimit = 4
    private static let space = " \t\r\n".unicodeScalars
    private static let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]

    init(_ text: String, redaction: Redaction, depth: Int) {
        self.redaction = redaction
        self.depth = depth
        rest = text.unicodeScalars[...]
    }

    mutating func clean() -> String? {
        while let first = rest.first {
            let isRead: Bool
            switch first {
            case "<" where rest.starts(with: "<!--".unicodeScalars): isRead = readComment()
            case "<" where rest.starts(with: "<![CDATA[".unicodeScalars): isRead = readCharacterData()
            case "<" where rest.starts(with: "<?".unicodeScalars): isRead = copy(through: "?>")
            case "<" where rest.starts(with: "<!".unicodeScalars): isRead = readDocumentType()
            case "<" where rest.starts(with: "</".unicodeScalars): isRead = open.popLast() != nil && copy(through: ">")
            case "<": isRead = readTag()
            default:
                readText()
                isRead = true
            }
            guard isRead else { return nil }
        }
        return open.isEmpty ? String(result) : nil
    }

    // MARK: Text

    private mutating func readText() {
        let text = take { $0 != "<" }
        let isBlank = text.unicodeScalars.allSatisfy { Self.space.contains($0) }
        append(isBlank ? text : open.last == true ? redaction.replacement : cleaned(text))
    }

    /// Returns text without the secrets of a URL, of JSON, or of XML whose markup is escaped with entities.
    private func cleaned(_ text: String) -> String {
        if let clean = redaction.cleaned(text) { return clean }
        guard text.contains("&lt;") else { return text }
        guard depth < Self.depthLimit else { return redaction.replacement }
        let plain = Self.entities.reduce(text) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
        guard let clean = redaction.xml(plain, depth: depth + 1), clean != plain else { return text }
        return Self.entities.reversed().reduce(clean) { $0.replacingOccurrences(of: $1.1, with: $1.0) }
    }

    private mutating func readCharacterData() -> Bool {
        drop(9)
        guard let text = taken(upTo: "]]>") else { return false }
        drop(3)
        let isMarkup = text.unicodeScalars.first { !Self.space.contains($0) } == "<"
        let clean: String =
            if open.last == true || isMarkup && depth >= Self.depthLimit {
                redaction.replacement
            } else if isMarkup {
                redaction.xml(text, depth: depth + 1) ?? redaction.replacement
            } else {
                redaction.cleaned(text) ?? text
            }
        append("<![CDATA[\(clean)]]>")
        return true
    }

    /// Copies a comment; a comment with markup or pairs is replaced, since it may contain any secret.
    private mutating func readComment() -> Bool {
        drop(4)
        guard let text = taken(upTo: "-->") else { return false }
        drop(3)
        append("<!--\(text.contains { "<=:".contains($0) } ? redaction.replacement : text)-->")
        return true
    }

    /// Copies a document type; false if it has an internal subset, which may define entities.
    private mutating func readDocumentType() -> Bool {
        guard let end = rest.firstIndex(of: ">"), !rest[..<end].contains("[") else { return false }
        return copy(through: ">")
    }

    // MARK: Tags

    /// An attribute: the text before its value, its name, its quotation mark, and its value.
    private struct Attribute {
        let start: String
        let name: String
        let quote: Unicode.Scalar
        let value: String
    }

    private mutating func readTag() -> Bool {
        drop(1)
        let name = takeName()
        guard !name.isEmpty, let attributes = takeAttributes() else { return false }
        let isPair = attributes.contains {
            ["name", "key", "field", "header"].contains(Self.local($0.name).lowercased())
                && redaction.isSecret(member: $0.value)
        }
        append("<\(name)")
        for attribute in attributes {
            let local = Self.local(attribute.name)
            let isSecret =
                !attribute.name.hasPrefix("xmlns")
                && (redaction.isSecret(member: local) || isPair && local.lowercased() == "value")
            let value = isSecret ? redaction.replacement : cleaned(attribute.value)
            append("\(attribute.start)\(attribute.quote)\(value)\(attribute.quote)")
        }
        append(take { Self.space.contains($0) })
        if rest.first == "/" { return copy(through: "/>") }
        open.append(open.last == true || isPair || redaction.isSecret(member: Self.local(name)))
        return copy(through: ">")
    }

    /// Takes the attributes up to the end of the tag, which is read next; `nil` for malformed attributes.
    private mutating func takeAttributes() -> [Attribute]? {
        var attributes: [Attribute] = []
        while true {
            let before = rest
            let space = take { Self.space.contains($0) }
            if rest.starts(with: ">".unicodeScalars) || rest.starts(with: "/>".unicodeScalars) {
                rest = before
                return attributes
            }
            let name = takeName()
            let equals = take { $0 == "=" || Self.space.contains($0) }
            guard !space.isEmpty, !name.isEmpty, equals.contains("="), let quote = rest.popFirst(),
                quote == "\"" || quote == "'", let value = taken(upTo: String(quote))
            else { return nil }
            drop(1)
            attributes.append(Attribute(start: "\(space)\(name)\(equals)", name: name, quote: quote, value: value))
        }
    }

    private mutating func takeName() -> String {
        take { !Self.space.contains($0) && !"=/<>\"'".unicodeScalars.contains($0) }
    }

    private static func local(_ name: String) -> String {
        name.firstIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
    }

    // MARK: Reading

    private mutating func append(_ text: String) { result.append(contentsOf: text.unicodeScalars) }

    private mutating func drop(_ count: Int) { rest = rest.dropFirst(count) }

    private mutating func take(_ isTaken: (Unicode.Scalar) -> Bool) -> String {
        let taken = rest.prefix(while: isTaken)
        rest = rest[taken.endIndex...]
        return String(taken)
    }

    /// Takes the text before `mark`, which is read next; `nil` when there is no `mark`.
    private mutating func taken(upTo mark: String) -> String? {
        let mark = mark.unicodeScalars
        var index = rest.startIndex
        while let next = rest[index...].firstIndex(where: { $0 == mark.first }) {
            if rest[next...].starts(with: mark) {
                defer { rest = rest[next...] }
                return String(rest[..<next])
            }
            index = rest.index(after: next)
        }
        return nil
    }

    private mutating func copy(through mark: String) -> Bool {
        guard let text = taken(upTo: mark) else { return false }
        append(text + mark)
        drop(mark.unicodeScalars.count)
        return true
    }
}
