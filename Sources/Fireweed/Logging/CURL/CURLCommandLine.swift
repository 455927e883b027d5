// A curl command, split into words.

import Foundation

/// A command line that consists of one `curl` command.
struct CURLCommandLine: Equatable {
    /// The words after `curl`.
    let arguments: [[UInt8]]

    init(_ text: String) throws {
        var tokens = try ShellWords.tokens(of: text)[...]
        if tokens.first == .word(Array("$".utf8)) { tokens = tokens.dropFirst() }  // a prompt
        guard case .word(let name)? = tokens.popFirst() else { throw CURLParsingError.notCURL("") }
        let program = String(decoding: name, as: UTF8.self)
        guard ["curl", "curl.exe"].contains(program.split(separator: "/").last.map(String.init)) else {
            throw CURLParsingError.notCURL(program)
        }
        // A browser's "Copy all as cURL" ends each command with `;` or `&`.
        if let last = tokens.last, last == .control(";") || last == .control("&") { tokens = tokens.dropLast() }
        arguments = try tokens.map { token in
            switch token {
            case .word(let word): return word
            case .control(let text): throw CURLParsingError.shellSyntax(text == "\n" ? "a second line" : text)
            }
        }
    }
}
