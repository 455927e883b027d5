// Why a curl command is no request.

public import Foundation

/// Why a `curl` command could not be made into a `URLRequest`.
///
/// It names the first thing, from left to right, that was not understood.
public enum CURLParsingError: Error, Sendable, Equatable {
    /// A quote was opened and not closed; the character is the quote.
    case unbalancedQuote(Character)
    /// The shell would do more here than make words: a variable, a command substitution, a redirection, a second
    /// command.
    case shellSyntax(String)
    /// The command is another one than `curl`; the name is empty when there is none.
    case notCURL(String)
    /// An option that is unknown, or that a `URLRequest` has no place for; as it was written.
    case unsupportedOption(String)
    /// The option came last, and needs a value.
    case missingValue(option: String)
    /// The value is none for this option.
    case invalidValue(option: String, value: String)
    /// Two options that exclude each other.
    case conflictingOptions(String, String)
    /// A file is named, and reading files was not allowed; `-` is standard input.
    case fileNotRead(option: String, path: String)
    /// A file is named that cannot be read.
    case unreadableFile(option: String, path: String)
    /// There is no URL.
    case missingURL
    /// There is more than one URL; this is the second.
    case severalURLs(String)
    /// The URL is none, or stands for several by curl's brackets and braces.
    case invalidURL(String)
}

extension CURLParsingError: LocalizedError {
    /// What was not understood, in one sentence.
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
