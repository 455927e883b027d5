// Splits command lines into words like a shell.

/// A token of a command line.
package enum ShellToken: Equatable {
    /// A word without its quotes; bytes, because `$'\xFF'` is not UTF-8.
    case word([UInt8])
    /// `|`, `;`, `&`, `<`, `>`, `(` or `)`, single or doubled; or a line break.
    case control(String)
}

/// Splits a command line into words (POSIX.1-2017, Shell & Utilities §2.2, §2.3), with bash's `$'…'`; pure.
///
/// Variables and command substitutions need a shell and are errors. Glob characters are literal, as in a shell when no
/// file matches. A `\0` in `$'…'` is a NUL, whereas bash would end the word.
package struct ShellWords {
    private let bytes: [UInt8]
    private var position = 0
    private var tokens: [ShellToken] = []
    private var word: [UInt8]?
    private let home: [UInt8]?

    /// The tokens of a text; a `~` that begins a word becomes `home`, and stays unchanged if `home` is `nil`.
    package static func tokens(of text: String, home: String? = nil) throws -> [ShellToken] {
        var words = ShellWords(bytes: Array(text.utf8), home: home.map { Array($0.utf8) })
        return try words.all()
    }

    private init(bytes: [UInt8], home: [UInt8]?) {
        self.bytes = bytes
        self.home = home
    }

    private mutating func all() throws -> [ShellToken] {
        while let byte = next() {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"): endWord()
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): endLine()
            case UInt8(ascii: "#") where word == nil: skipComment()
            case UInt8(ascii: "'"): try singleQuoted()
            case UInt8(ascii: "\""): try doubleQuoted()
            case UInt8(ascii: "\\"): escaped()
            case UInt8(ascii: "$"): try dollar()
            case UInt8(ascii: "`"): throw CURLParsingError.shellSyntax("`")
            case UInt8(ascii: "~") where word == nil: try tilde()
            case UInt8(ascii: "|"), UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"),
                UInt8(ascii: "("), UInt8(ascii: ")"):
                control(byte)
            default: append([byte])
            }
        }
        endLine()
        if tokens.last == .control("\n") { tokens.removeLast() }
        return tokens
    }

    // MARK: Reading and writing

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func next() -> UInt8? {
        guard let byte = peek else { return nil }
        position += 1
        return byte
    }

    private mutating func append(_ more: [UInt8]) {
        word = (word ?? []) + more
    }

    private mutating func endWord() {
        if let word { tokens.append(.word(word)) }
        word = nil
    }

    /// Ends a line; the line break becomes a token only after a word.
    private mutating func endLine() {
        endWord()
        if case .word? = tokens.last { tokens.append(.control("\n")) }
    }

    private mutating func control(_ byte: UInt8) {
        endWord()
        var text = String(UnicodeScalar(byte))
        while peek == byte, text.count < 2 {
            text.unicodeScalars.append(UnicodeScalar(byte))
            position += 1
        }
        tokens.append(.control(text))
    }

    private mutating func skipComment() {
        while let byte = peek, byte != UInt8(ascii: "\n") {
            _ = byte
            position += 1
        }
    }

    /// Reads a tilde-prefix (Shell & Utilities §2.6.1); `~name` needs a shell and is an error.
    private mutating func tilde() throws {
        guard let home else { return append([UInt8(ascii: "~")]) }
        let name = bytes[position...].prefix { $0 > 0x20 && !"/;&|<>()".utf8.contains($0) }
        guard name.isEmpty else { throw CURLParsingError.shellSyntax("~" + String(decoding: name, as: UTF8.self)) }
        append(home)
    }

    // MARK: Quotes

    /// Reads a backslash outside quotes: the next character is literal, and a line break is removed.
    private mutating func escaped() {
        if peek == UInt8(ascii: "\r"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\n") {
            position += 1
        }
        guard let byte = next() else { return append([UInt8(ascii: "\\")]) }
        if byte != UInt8(ascii: "\n") { append([byte]) }
    }

    private mutating func singleQuoted() throws {
        append([])
        while let byte = next() {
            if byte == UInt8(ascii: "'") { return }
            append([byte])
        }
        throw CURLParsingError.unbalancedQuote("'")
    }

    private mutating func doubleQuoted() throws {
        append([])
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "`"): throw CURLParsingError.shellSyntax("`")
            case UInt8(ascii: "$"): try variable()
            case UInt8(ascii: "\\"):
                guard let escaped = next() else { break }
                switch escaped {
                case UInt8(ascii: "$"), UInt8(ascii: "`"), UInt8(ascii: "\""), UInt8(ascii: "\\"): append([escaped])
                case UInt8(ascii: "\n"): break
                default: append([byte, escaped])
                }
            default: append([byte])
            }
        }
        throw CURLParsingError.unbalancedQuote("\"")
    }

    private mutating func dollar() throws {
        switch peek {
        case UInt8(ascii: "'"):
            position += 1
            append(try ANSIQuotedText.read(bytes, &position))
        case UInt8(ascii: "\""): break  // a translated string: the quote follows
        default: try variable()
        }
    }

    /// Reads a `$`: literal when no name follows; else an expansion, which is an error.
    private mutating func variable() throws {
        let name = bytes[position...].prefix { byte in
            byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                || (0x61...0x7A).contains(byte)
        }
        let special = peek.map { "{(@*#?-$!".utf8.contains($0) } ?? false
        guard name.isEmpty, !special else {
            let shown = name.isEmpty ? bytes[position...].prefix { $0 > 0x20 && $0 != 0x22 } : name
            throw CURLParsingError.shellSyntax("$" + String(decoding: shown, as: UTF8.self))
        }
        append([UInt8(ascii: "$")])
    }
}
