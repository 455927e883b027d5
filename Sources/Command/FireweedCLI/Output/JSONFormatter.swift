// JSON for people: indented, coloured and optionally sorted, with numbers as they were written.

import CommandLanguage

/// Indents and colours JSON token by token.
struct JSONFormatter {
    let appearance: Appearance

    /// Returns the formatted text, with each of several values on a new line; `nil` if its tokens show that it is not
    /// JSON, or if it is nested 512 levels deep or more.
    func formatted(_ text: String) -> TerminalText? {
        var text = text
        if appearance.isSorted, let node = try? JSONReader.read(text) { text = node.sorted.text }
        var output: TerminalText = ""
        var depth = 0
        var scanner = Array(text.unicodeScalars)[...]
        var closers: [Unicode.Scalar] = []
        while let scalar = scanner.first {
            let isSpace = " \n\r\t".unicodeScalars.contains(scalar)
            if closers.isEmpty, !output.isEmpty, !isSpace, appearance.isFormatted { output += "\n" }
            switch scalar {
            case _ where isSpace:
                scanner.removeFirst()
                if !appearance.isFormatted { output += "\(scalar)" }
            case "{", "[":
                scanner.removeFirst()
                let closer: Unicode.Scalar = scalar == "{" ? "}" : "]"
                let inner = scanner.drop { " \n\r\t".unicodeScalars.contains($0) }
                if inner.first == closer {
                    scanner = inner
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
                guard closers.last == "}" else { return nil }
                output += appearance.isFormatted ? ": " : ":"
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

    private func coloured(_ text: String, _ part: ColourStyle.Part) -> TerminalText {
        appearance.coloured("\(text)", part)
    }

    private func line(_ depth: Int) -> String {
        appearance.isFormatted ? "\n" + String(repeating: " ", count: depth * appearance.indent) : ""
    }

    /// Takes a string with its quotes and escapes; `nil` when its end is missing.
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

    /// Takes a number, `true`, `false` or `null`; `nil` for any other word.
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
