// Tokens of style sheets and programs, as exact as colours need; pure.

/// A piece of a program; the joined pieces are the unchanged program.
struct CodeToken: Equatable {
    /// The part whose colour the piece has; `nil` for plain text.
    let part: ColourStyle.Part?
    let text: String
}

/// A language whose programs get colours.
enum CodeLanguage: Equatable {
    case css, javaScript

    /// Finds the language of a media type; `nil` for a type without colours.
    init?(type: String?) {
        guard let essence = type?.prefix(while: { $0 != ";" && $0 != " " }).lowercased() else { return nil }
        if essence == "text/css" {
            self = .css
        } else if essence.hasSuffix("javascript") || essence.hasSuffix("ecmascript") {
            self = .javaScript
        } else {
            return nil
        }
    }

    /// Splits a program into tokens; invalid text is split too, without any loss.
    func tokens(of program: String) -> [CodeToken] {
        switch self {
        case .css:
            var tokens = CSSTokens(program)
            return tokens.all()
        case .javaScript:
            var tokens = JavaScriptTokens(program)
            return tokens.all()
        }
    }
}

/// A position in a program, and the tokens before it.
struct CodeScanner {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var tokens: [CodeToken] = []
    /// The index at which the plain text before the position begins.
    private var plainStart = 0

    init(_ program: String) {
        scalars = Array(program.unicodeScalars)
    }

    /// The next scalar; `nil` at the end.
    var current: Unicode.Scalar? { scalar(0) }

    /// The number of scalars up to the end.
    var restCount: Int { scalars.count - position }

    /// Returns the scalar at an offset from the position; `nil` after the end.
    func scalar(_ offset: Int) -> Unicode.Scalar? {
        position + offset < scalars.count ? scalars[position + offset] : nil
    }

    /// Returns the distance to the next occurrence of a text from `offset` on; `nil` if there is none.
    func distance(to text: String, after offset: Int) -> Int? {
        let text = Array(text.unicodeScalars)
        var index = position + offset
        while index + text.count <= scalars.count {
            if scalars[index] == text[0], scalars[index..<(index + text.count)].elementsEqual(text) {
                return index - position
            }
            index += 1
        }
        return nil
    }

    /// Counts the scalars from `offset` on, up to the first scalar that does not meet a condition.
    func count(after offset: Int = 0, while condition: (Unicode.Scalar) -> Bool) -> Int {
        var count = 0
        while let scalar = scalar(offset + count), condition(scalar) { count += 1 }
        return count
    }

    /// Returns the next scalars as a text.
    func text(_ count: Int) -> String {
        String(String.UnicodeScalarView(scalars[position..<min(position + count, scalars.count)]))
    }

    /// Makes a token of the next scalars, or plain text if `part` is `nil`, and moves past them.
    mutating func take(_ count: Int, _ part: ColourStyle.Part? = nil) {
        let end = min(position + count, scalars.count)
        if let part {
            endPlainText()
            tokens.append(CodeToken(part: part, text: text(count)))
            plainStart = end
        }
        position = end
    }

    /// Returns the length of the quoted string at the position: up to its closing quote, or to the end of its line.
    func stringCount() -> Int {
        guard let quote = current else { return 0 }
        var count = 1
        while let scalar = scalar(count), !Self.isLineBreak(scalar) {
            // A quote, a line feed or a carriage return after a backslash does not end the string.
            count += scalar == "\\" ? 2 : 1
            if scalar == quote { break }
        }
        return min(count, restCount)
    }

    /// Returns all tokens; called at the end of the program.
    mutating func finish() -> [CodeToken] {
        endPlainText()
        return tokens
    }

    private mutating func endPlainText() {
        guard plainStart < position else { return }
        tokens.append(CodeToken(part: nil, text: String(String.UnicodeScalarView(scalars[plainStart..<position]))))
    }

    static func isLineBreak(_ scalar: Unicode.Scalar) -> Bool { scalar == "\n" || scalar == "\r" }

    static func isSpace(_ scalar: Unicode.Scalar) -> Bool { " \t\r\n\u{0C}".unicodeScalars.contains(scalar) }

    static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    /// Whether a name of CSS or JavaScript can begin with a scalar.
    static func beginsName(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_" || scalar == "$"
            || !scalar.isASCII && scalar.properties.isAlphabetic
    }
}

extension Appearance {
    /// Returns a program in colours, with its layout unchanged.
    func coloured(_ program: String, in language: CodeLanguage) -> TerminalText {
        guard isColoured else { return "\(program)" }
        return language.tokens(of: program).map { token in
            token.part.map { coloured("\(token.text)", $0) } ?? "\(token.text)"
        }.joined()
    }
}
