// Errors in curl commands.

public import Foundation

/// Why a `curl` command could not be made into a `URLRequest`.
///
/// The error names the first unsupported part of the command, from left to right.
public enum CURLParsingError: Error, Sendable, Equatable {
    /// A quote is not closed; the character is the quote.
    case unbalancedQuote(Character)
    /// The command uses more of the shell than words: a variable, a command substitution, a redirection, a second
    /// command.
    case shellSyntax(String)
    /// The command is not `curl`; the name is empty when there is no command.
    case notCURL(String)
    /// The option, as written, is unknown or cannot be expressed in a `URLRequest`.
    case unsupportedOption(String)
    /// The option needs a value, and is the last word.
    case missingValue(option: String)
    /// The value is not valid for this option.
    case invalidValue(option: String, value: String)
    /// Two options that exclude each other.
    case conflictingOptions(String, String)
    /// The command names a file, and reading files was not allowed; or it names standard input (`-`), which is never
    /// read.
    case fileNotRead(option: String, path: String)
    /// The command names a file that cannot be read.
    case unreadableFile(option: String, path: String)
    /// There is no URL.
    case missingURL
    /// There is more than one URL; the string is the second.
    case severalURLs(String)
    /// The URL is not valid, or curl's brackets and braces make it several URLs.
    case invalidURL(String)
}

extension CURLParsingError: LocalizedError {
    /// The error in one sentence.
    public var errorDescription: String? {
        switch self {
        case .unbalancedQuote(let quote): "A quote is not closed: \(quote)"
        case .shellSyntax(let text): "Only a shell could understand \(text); write what it would become."
        case .notCURL(let name): name.isEmpty ? "There is no command." : "The command is \(name), not curl."
        case .unsupportedOption(let option): "The option \(option) is unknown here, or has no place in a request."
        case .missingValue(let option): "The option \(option) needs a value."
        case .invalidValue(let option, let value): "\"\(value)\" is no value for \(option)."
        case .conflictingOptions(let first, let second): "The options \(first) and \(second) exclude each other."
        case .fileNotRead(let option, let path): "\(option) names the file \(path), and files are not read here."
        case .unreadableFile(let option, let path): "\(option) names the file \(path), which cannot be read."
        case .missingURL: "There is no URL."
        case .severalURLs(let url): "There is more than one URL; the second is \(url)."
        case .invalidURL(let url): "\"\(url)\" is not the URL of one request."
        }
    }
}
