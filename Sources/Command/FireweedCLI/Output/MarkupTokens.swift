// A tokenizer for XML and HTML, as exact as a layout needs; pure.

/// A piece of a document; the joined pieces are the unchanged document.
enum MarkupToken: Equatable {
    case open(name: String, text: String)
    case close(name: String, text: String)
    /// The tag of an element without content: `<a/>`, or one of HTML's void elements.
    case empty(text: String)
    /// A comment, a declaration, a processing instruction or a CDATA section.
    case aside(text: String)
    case text(String)
    /// The program of a `<script>`, or the style sheet of a `<style>`.
    case code(String, CodeLanguage)

    /// Splits a document into tokens; entities stay as they are.
    ///
    /// `nil` for text that is not markup.
    static func tokens(of document: String, isHTML: Bool) -> [MarkupToken]? {
        var cutter = MarkupCutter(document, isHTML: isHTML)
        return cutter.tokens()
    }

    /// Elements of HTML whose white space is visible, or belongs to a program.
    static let verbatimElements: Set = ["pre", "textarea", "script", "style"]
    fileprivate static let voidElements: Set = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    ]
    /// Elements of HTML whose content has no tags.
    fileprivate static let rawElements: Set = ["script", "style", "textarea", "title"]
}

private struct MarkupCutter {
    private let scalars: [Unicode.Scalar]
    private let isHTML: Bool
    private var position = 0

    init(_ document: String, isHTML: Bool) {
        scalars = Array(document.unicodeScalars)
        self.isHTML = isHTML
    }

    mutating func tokens() -> [MarkupToken]? {
        var tokens: [MarkupToken] = []
        while position < scalars.count {
            guard scalars[position] == "<" else {
                tokens.append(.text(take(to: position(of: "<", from: position) ?? scalars.count)))
                continue
            }
            guard let token = tag() else { return nil }
            tokens.append(token)
            if isHTML, case .open(let name, let text) = token, MarkupToken.rawElements.contains(name) {
                let end = endOfRaw(name)
                guard end > position else { continue }
                let content = take(to: end)
                tokens.append(Self.language(of: name, text).map { .code(content, $0) } ?? .text(content))
            }
        }
        return tokens
    }

    /// Returns the language of an element's content; `nil` for text, and for a `<script>` that contains data.
    private static func language(of name: String, _ tag: String) -> CodeLanguage? {
        switch name {
        case "style": return .css
        case "script":
            guard let type = tag.firstMatch(of: /(?i)\stype\s*=\s*["']?([^"'\s>]+)/).map({ String($0.1) }) else {
                return .javaScript
            }
            return type.lowercased() == "module" ? .javaScript : CodeLanguage(type: type)
        default: return nil
        }
    }

    private mutating func tag() -> MarkupToken? {
        for (start, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")] where hasPrefix(start, at: position) {
            guard let close = index(of: end, from: position + start.unicodeScalars.count) else { return nil }
            return .aside(text: take(to: close + end.unicodeScalars.count))
        }
        guard let end = endOfTag() else { return nil }
        if hasPrefix("<!", at: position) { return .aside(text: take(to: end)) }
        let isClosing = hasPrefix("</", at: position)
        let name = name(from: position + (isClosing ? 2 : 1))
        guard !name.isEmpty else { return nil }
        let hasSlash = scalars[end - 2] == "/"
        let text = take(to: end)
        if isClosing { return .close(name: name, text: text) }
        let isEmpty = hasSlash || isHTML && MarkupToken.voidElements.contains(name)
        return isEmpty ? .empty(text: text) : .open(name: name, text: text)
    }

    /// Returns the position after the `>` that ends a tag or declaration; a `>` in quotes or brackets does not end it.
    private func endOfTag() -> Int? {
        var quote: Unicode.Scalar?
        var depth = 0
        for index in (position + 1)..<max(position + 1, scalars.count) {
            let scalar = scalars[index]
            if let open = quote {
                if scalar == open { quote = nil }
            } else if scalar == "\"" || scalar == "'" {
                quote = scalar
            } else if scalar == "[" {
                depth += 1
            } else if scalar == "]" {
                depth -= 1
            } else if scalar == ">", depth <= 0 {
                return index + 1
            }
        }
        return nil
    }

    private func name(from start: Int) -> String {
        let name = scalars[min(start, scalars.count)...].prefix { !" \t\r\n/>".unicodeScalars.contains($0) }
        let text = String(String.UnicodeScalarView(name))
        return isHTML ? text.lowercased() : text
    }

    private func endOfRaw(_ name: String) -> Int {
        var start = position
        while let found = index(of: "</", from: start) {
            if self.name(from: found + 2) == name { return found }
            start = found + 2
        }
        return scalars.count
    }

    private mutating func take(to end: Int) -> String {
        defer { position = end }
        return String(String.UnicodeScalarView(scalars[position..<end]))
    }

    private func position(of scalar: Unicode.Scalar, from start: Int) -> Int? {
        scalars[start...].firstIndex(of: scalar)
    }

    private func index(of text: String, from start: Int) -> Int? {
        guard let first = text.unicodeScalars.first else { return nil }
        var start = start
        while start < scalars.count, let found = position(of: first, from: start) {
            if hasPrefix(text, at: found) { return found }
            start = found + 1
        }
        return nil
    }

    private func hasPrefix(_ text: String, at start: Int) -> Bool {
        scalars[min(start, scalars.count)...].starts(with: text.unicodeScalars)
    }
}
