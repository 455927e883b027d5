// JSON for people: indented and coloured, with keys in their order and numbers as they were written.

/// Indents and colours JSON token by token.
struct JSONText {
    let isColoured: Bool

    /// The text on several lines; `nil` when it is no JSON, as far as its tokens tell.
    func formatted(_ text: String) -> TerminalText? {
        var output: TerminalText = ""
        var depth = 0
        var scanner = Array(text.unicodeScalars)[...]
        var closers: [Unicode.Scalar] = []
        while let scalar = scanner.first {
            switch scalar {
            case " ", "\n", "\r", "\t": scanner.removeFirst()
            case "{", "[":
                scanner.removeFirst()
                let closer: Unicode.Scalar = scalar == "{" ? "}" : "]"
                scanner = scanner.drop { " \n\r\t".unicodeScalars.contains($0) }
                if scanner.first == closer {
                    scanner.removeFirst()
                    output += scalar == "{" ? "{}" : "[]"
                    continue
                }
                closers.append(closer)
                depth += 1
                guard depth < 512 else { return nil }
                output += "\(scalar)\(line(depth))"
            case "}", "]":
                guard closers.popLast() == scalar else { return nil }
                scanner.removeFirst()
                depth -= 1
                output += "\(line(depth))\(scalar)"
            case ",":
                scanner.removeFirst()
                guard !closers.isEmpty else { return nil }
                output += ",\(line(depth))"
            case ":":
                scanner.removeFirst()
                output += ": "
            case "\"":
                guard let string = Self.string(&scanner) else { return nil }
                let isKey = scanner.first { !" \n\r\t".unicodeScalars.contains($0) } == ":"
                output += coloured(string, isKey ? .key : .string)
            default:
                guard let word = Self.word(&scanner) else { return nil }
                output += coloured(word, .literal)
            }
        }
        return closers.isEmpty && !output.isEmpty ? output : nil
    }

    private enum Colour: String {
        case key = "34"
        case string = "32"
        case literal = "36"
    }

    private func coloured(_ text: String, _ colour: Colour) -> TerminalText {
        isColoured ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : "\(text)"
    }

    private func line(_ depth: Int) -> String {
        "\n" + String(repeating: "    ", count: depth)
    }

    /// A string with its quotes and escapes.
    private static func string(_ scanner: inout ArraySlice<Unicode.Scalar>) -> String? {
        var text = String.UnicodeScalarView()
        text.append(scanner.removeFirst())
        while let scalar = scanner.popFirst() {
            text.append(scalar)
            if scalar == "\"" { return String(text) }
            if scalar == "\\" {
                guard let escaped = scanner.popFirst() else { return nil }
                text.append(escaped)
            }
        }
        return nil
    }

    /// A number, `true`, `false` or `null`.
    private static func word(_ scanner: inout ArraySlice<Unicode.Scalar>) -> String? {
        var text = String.UnicodeScalarView()
        while let scalar = scanner.first,
            scalar.properties.isAlphabetic || "+-.0123456789".unicodeScalars.contains(scalar)
        {
            text.append(scalar)
            scanner.removeFirst()
        }
        let word = String(text)
        let isKnown =
            ["true", "false", "null"].contains(word)
            || (Double(word) != nil && word.first != "+" && word.first?.isLetter == false)
        return isKnown ? word : nil
    }
}
