// A tokenizer for JavaScript (ECMA-262 §12), as exact as colours need; pure.

/// Splits a program into tokens.
struct JavaScriptTokens {
    private var scanner: CodeScanner
    /// For each open `${…}` of a template, the number of open braces in it.
    private var substitutions: [Int] = []
    /// Whether a value can come next, so that a `/` begins a regular expression instead of a division.
    private var expectsValue = true
    /// True after a dot, where a word is the name of a member.
    private var followsDot = false
    /// The number of scalars after the point at which the last search for the end of a regular expression failed.
    ///
    /// Text before that point is not searched again, which would be slow for long lines.
    private var searchedRest = Int.max

    private static let keywords: Set = [
        "as", "async", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
        "do", "else", "export", "extends", "finally", "for", "from", "function", "get", "if", "import", "in",
        "instanceof", "let", "new", "of", "return", "set", "static", "super", "switch", "this", "throw", "try",
        "typeof", "var", "void", "while", "with", "yield",
    ]
    private static let literals: Set = ["true", "false", "null", "undefined", "NaN", "Infinity"]
    /// Keywords that are values, so that a `/` after them divides.
    private static let values: Set = ["super", "this"]

    init(_ program: String) {
        scanner = CodeScanner(program)
    }

    mutating func all() -> [CodeToken] {
        if scanner.current == "#", scanner.scalar(1) == "!" { takeLine() }
        while let scalar = scanner.current { take(scalar) }
        return scanner.finish()
    }

    private mutating func take(_ scalar: Unicode.Scalar) {
        let next = scanner.scalar(1)
        switch scalar {
        case _ where CodeScanner.isSpace(scalar): scanner.take(1)
        case "/" where next == "/": takeLine()
        case "/" where next == "*":
            scanner.take(scanner.distance(to: "*/", after: 2).map { $0 + 2 } ?? scanner.restCount, .comment)
        case "/" where expectsValue && scanner.restCount < searchedRest: takeExpression()
        case "\"", "'": takeValue(scanner.stringCount(), .string)
        case "`": takeTemplate(from: 1)
        case "{", "}": takeBrace(scalar)
        case _ where CodeScanner.isDigit(scalar) || scalar == "." && next.map(CodeScanner.isDigit) == true:
            takeValue(numberCount(), .literal)
        case _ where CodeScanner.beginsName(scalar): takeWord()
        default:
            scanner.take(1)
            expectsValue = !")]".unicodeScalars.contains(scalar)
            followsDot = scalar == "."
        }
    }

    private mutating func takeLine() {
        scanner.take(scanner.count { !CodeScanner.isLineBreak($0) }, .comment)
    }

    private mutating func takeValue(_ count: Int, _ part: ColourStyle.Part?) {
        scanner.take(count, part)
        (expectsValue, followsDot) = (false, false)
    }

    private mutating func takeWord() {
        let count = scanner.count { CodeScanner.beginsName($0) || CodeScanner.isDigit($0) }
        let word = scanner.text(count)
        let isMember = followsDot
        if isMember || !Self.keywords.contains(word) {
            return takeValue(count, !isMember && Self.literals.contains(word) ? .literal : nil)
        }
        takeValue(count, .keyword)
        expectsValue = !Self.values.contains(word)
    }

    private mutating func takeBrace(_ scalar: Unicode.Scalar) {
        (expectsValue, followsDot) = (true, false)
        guard let depth = substitutions.last else { return scanner.take(1) }
        if scalar == "}", depth == 0 {
            substitutions.removeLast()
            scanner.take(1)
            return takeTemplate(from: 0)
        }
        substitutions[substitutions.count - 1] = depth + (scalar == "{" ? 1 : -1)
        scanner.take(1)
    }

    /// Takes the text of a template up to its end, or to its next `${`.
    private mutating func takeTemplate(from start: Int) {
        var count = start
        while let scalar = scanner.scalar(count) {
            if scalar == "`" { return takeValue(count + 1, .string) }
            if scalar == "$", scanner.scalar(count + 1) == "{" {
                if count > 0 { scanner.take(count, .string) }
                scanner.take(2)
                substitutions.append(0)
                (expectsValue, followsDot) = (true, false)
                return
            }
            count += scalar == "\\" ? 2 : 1
        }
        takeValue(scanner.restCount, .string)
    }

    /// Takes a regular expression with its flags, or only the `/`, as a division, if the line has no end of an
    /// expression.
    private mutating func takeExpression() {
        var (count, isInClass) = (1, false)
        while let scalar = scanner.scalar(count), !CodeScanner.isLineBreak(scalar) {
            switch scalar {
            case "\\": count += 1
            case "[": isInClass = true
            case "]": isInClass = false
            case "/" where !isInClass:
                return takeValue(count + 1 + scanner.count(after: count + 1) { CodeScanner.beginsName($0) }, .string)
            default: break
            }
            count += 1
        }
        searchedRest = scanner.restCount - min(count, scanner.restCount) + 1
        scanner.take(1)
    }

    /// Returns the length of a number in any notation: `0x1F`, `1_000n`, `1.5e-3`.
    private func numberCount() -> Int {
        var count = 1
        while let scalar = scanner.scalar(count) {
            let isSigned = scanner.scalar(count - 1).map { "eE".unicodeScalars.contains($0) } == true
            let isExponent =
                "+-".unicodeScalars.contains(scalar) && isSigned && !scanner.text(2).lowercased().hasPrefix("0x")
            guard CodeScanner.isDigit(scalar) || CodeScanner.beginsName(scalar) || scalar == "." || isExponent else {
                break
            }
            count += 1
        }
        return count
    }
}
