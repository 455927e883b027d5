// Colours of heads and content.

/// A set of colours, as codes of ECMA-48 §8.3.117.
enum ColourStyle: String, CaseIterable, Sendable {
    /// For dark backgrounds and most others.
    case standard
    /// For light backgrounds: nothing pale.
    case light
    /// Only bold and plain text.
    case mono
    /// The palette of the same name, for dark backgrounds; needs 256 colours.
    case monokai
    /// The palette of the same name, for dark and light backgrounds; needs 256 colours.
    case solarized

    /// A part of the output that has a colour.
    enum Part: Sendable {
        case fieldName, statusLine, key, string, literal, keyword, comment
    }

    /// Returns the code for a part; `nil` for a part that stays plain.
    func code(_ part: Part) -> String? {
        switch part {
        case .statusLine: "1"
        case .fieldName: codes.fieldName
        case .key: codes.key
        case .string: codes.string
        case .literal: codes.literal
        case .keyword: codes.keyword
        case .comment: codes.comment
        }
    }

    private struct Codes {
        let fieldName, key: String
        var string, literal: String?
        let keyword: String
        var comment: String?
    }

    private var codes: Codes {
        switch self {
        case .standard:
            Codes(fieldName: "36", key: "34", string: "32", literal: "36", keyword: "35", comment: "90")
        case .light: Codes(fieldName: "34", key: "34", string: "31", literal: "35", keyword: "1;34", comment: "90")
        case .mono: Codes(fieldName: "1", key: "1", keyword: "1")
        case .monokai:
            Codes(
                fieldName: "38;5;148", key: "38;5;197", string: "38;5;186", literal: "38;5;141", keyword: "38;5;81",
                comment: "38;5;242")
        case .solarized:
            Codes(
                fieldName: "38;5;33", key: "38;5;33", string: "38;5;37", literal: "38;5;136", keyword: "38;5;64",
                comment: "38;5;245")
        }
    }
}

/// The colours and the layout of printed text.
struct Appearance: Sendable {
    var isColoured = false
    var isFormatted = true
    var style = ColourStyle.standard
    var isSorted = false
    var indent = 4

    /// Returns text in the colour of a part, or unchanged text when colours are off.
    func coloured(_ text: TerminalText, _ part: ColourStyle.Part) -> TerminalText {
        guard isColoured, let code = style.code(part) else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

extension Appearance {
    /// Makes the appearance for an invocation: by default, text on a terminal is formatted, and coloured if allowed;
    /// other output is unchanged.
    init(_ invocation: Invocation, isTerminal: Bool, allowsColours: Bool) {
        let chosen = invocation.prettiness ?? (!isTerminal ? .none : allowsColours ? .all : .format)
        isColoured = chosen.hasColours
        isFormatted = chosen.isFormatted
        style = invocation.style
        isSorted = invocation.sortsOutput
        indent = invocation.indent
    }
}
