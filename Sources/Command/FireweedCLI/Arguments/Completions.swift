// The common part of the completions of all shells.

/// Words that shells complete beside the names of options.
enum Completions {
    static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    /// What may follow `--help`.
    static var topics: [String] { ["all"] + Subcommand.allCases.map(\.rawValue) + Help.groupTopics }

    /// A line of help for a list of candidates: the first sentence, without what is in parentheses.
    static func summary(_ option: Option) -> String {
        var text = option.help.replacing(#/ \([^)]*\)/#, with: "")
        for end in [". ", "; ", ": "] {
            if let range = text.firstRange(of: end) { text = String(text[..<range.lowerBound]) }
        }
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}
