// The file with the user's defaults.

import CommandLanguage
import Foundation
import Glibc

/// `~/.config/fireweed/config`: options that every run begins with, as they stand on a command line.
enum ConfigurationFile {
    /// `$FIREWEED_CONFIG`, else `$XDG_CONFIG_HOME/fireweed/config`, else the one in the home folder; `nil` where
    /// `$FIREWEED_CONFIG` is empty.
    static func path(environment: [String: String] = ConfigurationFolder.environment) -> String? {
        if let path = environment["FIREWEED_CONFIG"] { return path.isEmpty ? nil : path }
        return ConfigurationFolder.path(environment: environment) + "/config"
    }

    /// The words of the file; none when it is not there; throws `UsageError`.
    static func words(environment: [String: String] = ConfigurationFolder.environment) throws -> [String] {
        guard let path = path(environment: environment), FileManager.default.fileExists(atPath: path) else { return [] }
        guard let text = String(validating: try LocalFile.data(path), as: UTF8.self) else {
            throw UsageError(message: "the configuration file \(path) is not UTF-8 text")
        }
        let words = words(of: text)
        if let word = words.first(where: { !$0.isOption }) {
            throw UsageError(message: "\(path) may hold options alone, and not \"\(word.text)\"")
        }
        return words.map(\.text)
    }

    /// An option on each line, with its value behind a space or `=`; `#` begins a comment, also behind a space and
    /// outside of quotes.
    static func words(of text: String) -> [(text: String, isOption: Bool)] {
        text.split(whereSeparator: \.isNewline).flatMap { line -> [(text: String, isOption: Bool)] in
            let line = line.trimmingCharacters(in: .whitespaces)
            guard !line.isEmpty, !line.hasPrefix("#") else { return [] }
            let halves = withoutComment(line).split(maxSplits: 1, whereSeparator: \.isWhitespace).map(String.init)
            let isOption = line.hasPrefix("-")
            guard halves.count == 2 else { return halves.map { ($0, isOption) } }
            var value = halves[1].trimmingCharacters(in: .whitespaces)
            if value.count >= 2, let quote = value.first, "\"'".contains(quote), value.last == quote {
                value = String(value.dropFirst().dropLast())
            }
            return [(halves[0], isOption), (value, true)]
        }
    }

    /// A line up to its comment.
    ///
    /// A quote begins a value, behind a space or `=`: an apostrophe in a word is none.
    private static func withoutComment(_ line: String) -> Substring {
        var quote: Character?
        var last: Character = "-"
        for index in line.indices {
            let character = line[index]
            if let open = quote {
                if character == open { quote = nil }
            } else if last.isWhitespace || last == "=", "\"'".contains(character) {
                quote = character
            } else if last.isWhitespace, character == "#" {
                return line[..<index]
            }
            last = character
        }
        return line[...]
    }
}

/// Where the command keeps what belongs to a user.
enum ConfigurationFolder {
    /// The variables that name folders; `ProcessInfo` would copy all that there are.
    static var environment: [String: String] {
        ["FIREWEED_CONFIG", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME"].reduce(into: [:]) { found, name in
            if let value = getenv(name) { found[name] = String(cString: value) }
        }
    }

    /// `$XDG_CONFIG_HOME/fireweed`, or `~/.config/fireweed`.
    static func path(environment: [String: String] = environment) -> String {
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return "\(base)/fireweed" }
        return "\(environment["HOME"] ?? NSHomeDirectory())/.config/fireweed"
    }
}
