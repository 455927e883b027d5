// Text that is safe to show on a terminal.

/// Text for a terminal: string literals unchanged, and interpolated values without control characters.
///
/// A server, a file name or an argument must not control the terminal. All printed text has this type, so that one
/// place enforces this rule.
struct TerminalText: ExpressibleByStringInterpolation, Equatable, Sendable {
    private(set) var text: String

    init(stringLiteral text: String) {
        self.text = text
    }

    init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
    }

    /// Makes text from a foreign source, and drops its control characters.
    init(foreign text: String) {
        self.text = Self.withoutControls(text)
    }

    var bytes: [UInt8] { Array(text.utf8) }

    var isEmpty: Bool { text.isEmpty }

    static func + (first: TerminalText, second: TerminalText) -> TerminalText { "\(first)\(second)" }

    static func += (first: inout TerminalText, second: TerminalText) { first.text += second.text }

    /// Builds the text.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity)
        }

        mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        mutating func appendInterpolation(_ safe: TerminalText) {
            text += safe.text
        }

        mutating func appendInterpolation(_ value: some Any) {
            text += TerminalText.withoutControls("\(value)")
        }
    }

    /// Drops the characters of C0 and C1 (ECMA-48 §5) and DEL, except line feed and tab.
    private static func withoutControls(_ text: String) -> String {
        // The fast path: most text has no control characters. In UTF-8, a C1 character is the byte C2 and a byte below
        // A0.
        let isSafe = text.utf8.allSatisfy { $0 == 0x0A || $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F && $0 != 0xC2 }
        if isSafe { return text }
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter {
                    $0 == "\n" || $0 == "\t"
                        || $0.value >= 0x20 && $0.value != 0x7F && !(0x80..<0xA0).contains($0.value)
                }))
    }
}

extension Sequence<TerminalText> {
    /// Returns the texts one after the other, as one text.
    func joined() -> TerminalText { reduce(into: "") { $0 += $1 } }
}
