// The common part of the completions of all shells.

/// Words that shells complete besides the names of options.
enum Completions {
    static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    /// Common field names, with the colon that makes a word an item.
    static let fields = [
        "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Content-Disposition",
        "Content-Encoding", "Content-Language", "Content-Type", "Cookie", "Depth", "Expect", "Forwarded", "Host",
        "Idempotency-Key", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since",
        "Max-Forwards", "Origin", "Prefer", "Range", "Referer", "TE", "User-Agent", "X-Forwarded-For",
        "X-Forwarded-Proto", "X-Request-ID",
        "X-Requested-With",
    ].map { "\($0):" }

    /// The folder of the saved sessions, in the syntax of a POSIX shell.
    static let sessionFolder = "${XDG_CONFIG_HOME:-$HOME/.config}/fireweed/sessions"

    /// The topics that may follow `--help`.
    static var topics: [String] { ["all"] + Subcommand.allCases.map(\.rawValue) + Help.groupTopics }

    /// Returns the option's help up to the first full stop, semicolon or colon, without parentheses, for a list of
    /// candidates.
    static func summary(_ option: Option) -> String {
        var text = option.help.replacing(#/ \([^)]*\)/#, with: "")
        for end in [". ", "; ", ": "] {
            if let range = text.firstRange(of: end) { text = String(text[..<range.lowerBound]) }
        }
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}
