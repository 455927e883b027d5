// A tokenizer for style sheets (CSS Syntax Level 3), as exact as colours need; pure.

/// Splits a style sheet into tokens.
struct CSSTokens {
    private var scanner: CodeScanner
    /// The kind of text at the scanner's position.
    private var context = Context.start

    private enum Context {
        /// Between statements.
        case start
        /// The text before a block or a `;`: the selector of a rule, or an at-rule.
        case prelude
        /// The name of a property.
        case property
        case value
    }

    init(_ sheet: String) {
        scanner = CodeScanner(sheet)
    }

    mutating func all() -> [CodeToken] {
        while let scalar = scanner.current {
            switch scalar {
            case "/" where scanner.scalar(1) == "*":
                scanner.take(scanner.distance(to: "*/", after: 2).map { $0 + 2 } ?? scanner.restCount, .comment)
            case "{", "}", ";":
                scanner.take(1)
                context = .start
            case _ where CodeScanner.isSpace(scalar): scanner.take(1)
            case _ where context == .start: context = statement(scalar)
            case "\"", "'": scanner.take(scanner.stringCount(), .string)
            case ":" where context == .property:
                scanner.take(1)
                context = .value
            default: takeWord(scalar)
            }
        }
        return scanner.finish()
    }

    /// Returns the context in which a statement begins.
    ///
    /// A declaration has a colon, and ends with `;`, `}` or the sheet. Any other statement begins with a prelude.
    private func statement(_ first: Unicode.Scalar) -> Context {
        if first == "@" { return .prelude }
        var (offset, hasColon) = (0, false)
        while let scalar = scanner.scalar(offset) {
            switch scalar {
            case "{": return .prelude
            case ";", "}": return hasColon ? .property : .prelude
            case ":": hasColon = true
            case "\"", "'":
                offset += scanner.count(after: offset + 1) { $0 != scalar && !CodeScanner.isLineBreak($0) } + 1
            case "\\": offset += 1
            default: break
            }
            offset += 1
        }
        return hasColon ? .property : .prelude
    }

    private mutating func takeWord(_ scalar: Unicode.Scalar) {
        let next = scanner.scalar(1)
        let isNumber =
            CodeScanner.isDigit(scalar)
            || ".+-".unicodeScalars.contains(scalar) && next.map(CodeScanner.isDigit) == true
        switch scalar {
        case "@": scanner.take(1 + nameCount(after: 1), .keyword)
        case "!" where context == .value: scanner.take(1 + nameCount(after: 1), .keyword)
        case "#" where context == .value: scanner.take(1 + nameCount(after: 1), .literal)
        case _ where context == .prelude && !isNumber && ".#&*>~".unicodeScalars.contains(scalar):
            scanner.take(1 + nameCount(after: 1), .key)
        case _ where isNumber && context != .property: scanner.take(numberCount(), .literal)
        case _ where CodeScanner.beginsName(scalar) || scalar == "-" || scalar == "\\": takeName()
        default: scanner.take(1)
        }
    }

    private mutating func takeName() {
        let count = max(1, nameCount(after: 0))
        switch context {
        case .property: scanner.take(count, .fieldName)
        case .prelude where scanner.scalar(count) != "(": scanner.take(count, .key)
        case .value where scanner.text(count).lowercased() == "url" && scanner.scalar(count) == "(":
            scanner.take(count + 1)
            // A URL may have no quotes.
            let address = scanner.count { $0 != ")" && !CodeScanner.isSpace($0) && $0 != "\"" && $0 != "'" }
            if address > 0 { scanner.take(address, .string) }
        case .start, .prelude, .value: scanner.take(count)
        }
    }

    private func nameCount(after offset: Int) -> Int {
        var count = 0
        while let scalar = scanner.scalar(offset + count) {
            if scalar == "\\" {
                count += 2
            } else if CodeScanner.beginsName(scalar) || CodeScanner.isDigit(scalar) || scalar == "-" {
                count += 1
            } else {
                break
            }
        }
        return min(count, scanner.restCount - offset)
    }

    /// Returns the length of a number with its unit.
    private func numberCount() -> Int {
        // The first scalar is a digit, a sign or a point.
        let count = 1 + scanner.count(after: 1) { CodeScanner.isDigit($0) || $0 == "." }
        return count + (scanner.scalar(count) == "%" ? 1 : nameCount(after: count))
    }
}
