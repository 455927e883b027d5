// XML and HTML for people: laid out where white space is insignificant, and coloured.

/// Lays out and colours markup; text, attributes and entities stay as they are.
struct MarkupFormatter {
    let appearance: Appearance
    let isHTML: Bool

    /// The limit for the depth of nested elements.
    private static let maximumDepth = 512

    /// Returns the formatted document; `nil` for text that is not markup, and for XML that is nested too deep or whose
    /// tags do not match.
    ///
    /// HTML that is nested too deep or whose tags do not match keeps its layout, and only gets colours.
    func formatted(_ document: String) -> TerminalText? {
        guard let tokens = MarkupToken.tokens(of: document, isHTML: isHTML),
            tokens.contains(where: { if case .text = $0 { false } else { true } })
        else { return nil }
        guard appearance.isFormatted, let mixed = mixedElements(tokens) else {
            return isHTML || mixedElements(tokens) != nil ? tokens.map(coloured).joined() : nil
        }
        return laidOut(tokens, mixed)
    }

    /// Returns the indices of the start tags whose elements contain text or significant white space.
    ///
    /// `nil` if tags do not match, or are nested too deep.
    private func mixedElements(_ tokens: [MarkupToken]) -> Set<Int>? {
        var open: [(index: Int, name: String)] = []
        var mixed: Set<Int> = []
        for (index, token) in tokens.enumerated() {
            switch token {
            case .open(let name, let text):
                open.append((index, name))
                guard open.count < Self.maximumDepth else { return nil }
                let isVerbatim = isHTML ? MarkupToken.verbatimElements.contains(name) : Self.preservesSpace(text)
                if isVerbatim { mixed.insert(index) }
            case .close(let name, _):
                guard let element = open.popLast(), element.name == name else { return nil }
                // White space is significant if it is the whole content of an element.
                if index == element.index + 2, case .text = tokens[index - 1] { mixed.insert(element.index) }
            case .text(let text), .code(let text, _):
                if let last = open.last, !Self.isSpace(text) { mixed.insert(last.index) }
            case .aside(let text):
                if let last = open.last, text.hasPrefix("<![CDATA[") { mixed.insert(last.index) }
            case .empty: break
            }
        }
        return open.isEmpty ? mixed : nil
    }

    private func laidOut(_ tokens: [MarkupToken], _ mixed: Set<Int>) -> TerminalText {
        var output: TerminalText = ""
        var isMixed: [Bool] = []
        var follows = false  // whether the last token is a start tag
        func begin(_ depth: Int) -> String {
            output.isEmpty ? "" : "\n" + String(repeating: " ", count: depth * appearance.indent)
        }
        for (index, token) in tokens.enumerated() {
            let isVerbatim = isMixed.contains(true)
            switch token {
            case .text(let text):
                if isVerbatim || !Self.isSpace(text) { output += "\(text)" }
                continue
            case .code:
                output += coloured(token)
                continue
            case .open:
                output += "\(isVerbatim ? "" : begin(isMixed.count))\(coloured(token))"
                isMixed.append(mixed.contains(index))
                follows = true
                continue
            case .close:
                _ = isMixed.popLast()
                output += "\(isVerbatim || follows ? "" : begin(isMixed.count))\(coloured(token))"
            case .empty, .aside:
                output += "\(isVerbatim ? "" : begin(isMixed.count))\(coloured(token))"
            }
            follows = false
        }
        return output
    }

    /// Whether a start tag of XML declares white space in its element significant (XML 1.0 §2.10).
    private static func preservesSpace(_ tag: String) -> Bool {
        ["xml:space=\"preserve\"", "xml:space='preserve'"].contains { tag.contains($0) }
    }

    private static func isSpace(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { " \t\r\n".unicodeScalars.contains($0) }
    }

    // MARK: Colours

    private func coloured(_ token: MarkupToken) -> TerminalText {
        switch token {
        case .text(let text): "\(text)"
        case .code(let text, let language): appearance.coloured(text, in: language)
        case .aside(let text): appearance.coloured("\(text)", text.hasPrefix("<!--") ? .comment : .literal)
        case .open(_, let text), .close(_, let text), .empty(let text): appearance.isColoured ? tag(text) : "\(text)"
        }
    }

    /// Returns a tag with colours for its name and for the names and values of its attributes.
    private func tag(_ text: String) -> TerminalText {
        var scalars = Array(text.unicodeScalars)[...]
        func take(while condition: (Unicode.Scalar) -> Bool) -> String {
            let part = scalars.prefix(while: condition)
            scalars = scalars.dropFirst(part.count)
            return String(String.UnicodeScalarView(part))
        }
        var output: TerminalText = "\(take { "</".unicodeScalars.contains($0) })"
        output += appearance.coloured("\(take { !" \t\r\n/>".unicodeScalars.contains($0) })", .key)
        while let scalar = scalars.first {
            switch scalar {
            case "\"", "'":
                scalars.removeFirst()
                let value = take { $0 != scalar }
                let end = scalars.popFirst().map { String($0) } ?? ""
                output += appearance.coloured("\(scalar)\(value)\(end)", .string)
            case " ", "\t", "\r", "\n", "/", ">", "=":
                scalars.removeFirst()
                output += "\(scalar)"
            default:
                output += appearance.coloured("\(take { !" \t\r\n/>=\"'".unicodeScalars.contains($0) })", .fieldName)
            }
        }
        return output
    }
}
