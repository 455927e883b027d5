// The shell pipeline of a curl command.

import Foundation

/// One `curl` command, alone on its line or behind `printf '…' |`, which is how content with NULs is written.
struct CURLPipeline: Equatable {
    /// The words behind `curl`.
    let arguments: [[UInt8]]
    /// The output of `printf`; `nil` without `printf`.
    let standardInput: [UInt8]?

    init(_ text: String) throws {
        var tokens = try ShellWords.tokens(of: text)[...]
        if tokens.first == .word(Array("$".utf8)) { tokens = tokens.dropFirst() }  // a prompt
        standardInput = try Self.printed(&tokens)
        guard case .word(let name)? = tokens.popFirst() else { throw CURLParsingError.notCURL("") }
        let program = String(decoding: name, as: UTF8.self)
        guard ["curl", "curl.exe"].contains(program.split(separator: "/").last.map(String.init)) else {
            throw CURLParsingError.notCURL(program)
        }
        // A browser's "Copy all as cURL" ends each command with a semicolon.
        if let last = tokens.last, last == .control(";") || last == .control("&") { tokens = tokens.dropLast() }
        arguments = try tokens.map { token in
            switch token {
            case .word(let word): return word
            case .control(let text): throw CURLParsingError.shellSyntax(text == "\n" ? "a second line" : text)
            }
        }
    }

    private static func printed(_ tokens: inout ArraySlice<ShellToken>) throws -> [UInt8]? {
        guard tokens.first == .word(Array("printf".utf8)) else { return nil }
        let words = tokens.dropFirst().prefix { $0 != .control("|") }
        guard words.count == 1, case .word(let format)? = words.first, words.endIndex < tokens.endIndex else {
            throw CURLParsingError.shellSyntax("printf")
        }
        tokens = tokens[(words.endIndex + 1)...]
        return try PrintfFormat.bytes(of: format)
    }
}
