// Colours of heads and JSON.

/// A set of colours, as codes of ECMA-48 §8.3.117.
enum ColourStyle: String, CaseIterable, Sendable {
    /// For dark backgrounds and most others.
    case standard
    /// For light backgrounds: nothing pale.
    case light
    /// Bold and plain alone.
    case mono

    /// What is coloured.
    enum Part: Sendable {
        case fieldName, statusLine, key, string, literal
    }

    /// The code; `nil` leaves the text as it is.
    func code(_ part: Part) -> String? {
        switch (self, part) {
        case (_, .statusLine): "1"
        case (.standard, .fieldName): "36"
        case (.standard, .key): "34"
        case (.standard, .string): "32"
        case (.standard, .literal): "36"
        case (.light, .fieldName), (.light, .key): "34"
        case (.light, .string): "31"
        case (.light, .literal): "35"
        case (.mono, .fieldName), (.mono, .key): "1"
        case (.mono, .string), (.mono, .literal): nil
        }
    }
}

/// How text is shown.
struct Appearance: Sendable {
    var isColoured = false
    var isFormatted = true
    var style = ColourStyle.standard
    var isSorted = false
    var indent = 4

    /// Text in the colour of a part.
    func coloured(_ text: TerminalText, _ part: ColourStyle.Part) -> TerminalText {
        guard isColoured, let code = style.code(part) else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

extension Appearance {
    /// What an invocation asks for: on a terminal everything, unless it cannot or must not have colours.
    init(_ invocation: Invocation, isTerminal: Bool, allowsColours: Bool) {
        let chosen = invocation.prettiness ?? (!isTerminal ? .none : allowsColours ? .all : .format)
        isColoured = chosen.hasColours
        isFormatted = chosen.isFormatted
        style = invocation.style
        isSorted = invocation.sortsOutput
        indent = invocation.indent
    }
}
