import FireweedTesting
import Foundation
import Testing

@testable import Fireweed

@Suite("Shell words")
struct ShellWordsTests {
    private func words(_ text: String) throws -> [String] {
        try ShellWords.tokens(of: text).map { token in
            switch token {
            case .word(let bytes): String(decoding: bytes, as: UTF8.self)
            case .control(let text): "<\(text)>"
            }
        }
    }

    @Test(
        "words are split as a shell does it",
        arguments: [
            ("a b  c", ["a", "b", "c"]), ("", []), ("  \t ", []), ("a\\ b", ["a b"]), ("a\\\nb", ["ab"]),
            ("a \\\n  b", ["a", "b"]),
            ("a \\\r\n  b", ["a", "b"]), ("'a b'", ["a b"]), ("'a\\b'", ["a\\b"]), ("''", [""]), ("\"\"", [""]),
            ("a''b", ["ab"]),
            (#""a\"b\\c\$d\`e\f""#, [#"a"b\c$d`e\f"#]), ("\"a\\\nb\"", ["ab"]), ("'it'\\''s'", ["it's"]),
            ("\"a'b\"'c\"d'", ["a'bc\"d"]),
            ("a # comment", ["a"]), ("a#b", ["a#b"]), ("a\n# comment\n", ["a"]), ("a\nb", ["a", "<\n>", "b"]),
            ("a|b", ["a", "<|>", "b"]), ("a && b", ["a", "<&&>", "b"]), ("a;", ["a", "<;>"]),
            ("a>b", ["a", "<>>", "b"]),
            ("a\\|b", ["a|b"]), ("'a|b'", ["a|b"]), ("$ a", ["$", "a"]), ("a$", ["a$"]), ("\"a$\"", ["a$"]),
            ("\"$ \"", ["$ "]),
            ("\"100$%\"", ["100$%"]), ("*.txt ~/x {a,b} [1-3]", ["*.txt", "~/x", "{a,b}", "[1-3]"]),
            ("ä'ö'\"ü\"", ["äöü"]), ("a\\", ["a\\"]),
            ("$\"a\"", ["a"]),
        ])
    func split(text: String, expected: [String]) throws {
        #expect(try words(text) == expected)
    }

    @Test(
        "bash's quotes with escapes",
        arguments: [
            (#"$'a\nb'"#, Array("a\nb".utf8)), (#"$'it\'s'"#, Array("it's".utf8)),
            (#"$'\x41\x4a4'"#, Array("AJ4".utf8)),
            (#"$'\101\0'"#, [0x41, 0]), (#"$'\1018'"#, Array("A8".utf8)), (#"$'\u00e9\u4e2d'"#, Array("é中".utf8)),
            (#"$'\U0001F600'"#, Array("😀".utf8)), (#"$'\ud83d\ude00'"#, Array("😀".utf8)), (#"$'\ud83d'"#, []),
            (#"$'\a\b\e\E\f\r\t\v\\\"\?'"#, [7, 8, 27, 27, 12, 13, 9, 11, 0x5C, 0x22, 0x3F]), (#"$'\cA\cz'"#, [1, 26]),
            (#"$'\q\xzz'"#, Array(#"\q\xzz"#.utf8)), (#"$'\xff\xfe'"#, [0xFF, 0xFE]), (#"a$'b'c"#, Array("abc".utf8)),
            ("$'a\\\nb'", Array("a\\\nb".utf8)),
        ] as [(String, [UInt8])])
    func ansi(text: String, expected: [UInt8]) throws {
        #expect(try ShellWords.tokens(of: text) == [.word(expected)])
    }

    @Test(
        "what only a shell could know, and quotes that stay open, are errors",
        arguments: [
            ("'a", .unbalancedQuote("'")), ("\"a", .unbalancedQuote("\"")), ("$'a", .unbalancedQuote("'")),
            ("a 'b", .unbalancedQuote("'")),
            (#""a\""#, .unbalancedQuote("\"")), (#"$'a\'"#, .unbalancedQuote("'")), ("$HOME", .shellSyntax("$HOME")),
            ("\"Bearer $TOKEN x\"", .shellSyntax("$TOKEN")), ("\"${TOKEN}\"", .shellSyntax("${TOKEN}")),
            ("`date`", .shellSyntax("`")),
            ("\"`date`\"", .shellSyntax("`")), ("$(date)", .shellSyntax("$(date)")), ("$1", .shellSyntax("$1")),
            ("$?", .shellSyntax("$?")),
            ("$(printf 'a')", .shellSyntax("$(printf")),
        ] as [(String, CURLParsingError)])
    func errors(text: String, expected: CURLParsingError) {
        #expect(throws: expected) { try ShellWords.tokens(of: text) }
    }

    @Test("any text at all gives words or an error, and quoted text comes back")
    func anything() throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<500 {
            let text = generator.text(upTo: 20)
            _ = try? ShellWords.tokens(of: text)
            // Control characters need a shell.
            guard !text.unicodeScalars.contains(where: ShellText.isControl) else { continue }
            #expect(try words(ShellText.quoted(text)) == [text], "\(ShellText.quoted(text))")
            #expect(try words("x" + ShellText.word(text)) == ["x" + text])
        }
    }
}
