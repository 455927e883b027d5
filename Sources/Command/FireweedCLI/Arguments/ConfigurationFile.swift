// The file with the user's defaults.

import CommandLanguage
import Foundation
import Glibc

/// `~/.config/fireweed/config`: options that apply to every run, written as on a command line.
enum ConfigurationFile {
    /// Returns `$FIREWEED_CONFIG`, else `$XDG_CONFIG_HOME/fireweed/config`, else `~/.config/fireweed/config`; `nil`
    /// when `$FIREWEED_CONFIG` is empty.
    static func path(environment: [String: String] = ConfigurationFolder.environment) -> String? {
        if let path = environment["FIREWEED_CONFIG"] { return path.isEmpty ? nil : path }
        return ConfigurationFolder.path(environment: environment) + "/config"
    }

    /// Reads the options in the file, none if the file does not exist; throws `UsageError`, which names the file and,
    /// if possible, the wrong line.
    static func options(environment: [String: String] = ConfigurationFolder.environment) throws -> [OptionUse] {
        guard let path = path(environment: environment), FileManager.default.fileExists(atPath: path) else { return [] }
        guard let text = String(validating: try LocalFile.data(path), as: UTF8.self) else {
            throw UsageError(message: "the configuration file \(path) is not UTF-8 text")
        }
        // Some editors write a byte order mark.
        let lines = text.trimmingPrefix("\u{FEFF}").split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return try lines.enumerated().flatMap { number, line in
            let place = "\(path), line \(number + 1)"
            do {
                return try options(of: line).map { use in
                    var use = use
                    use.place = place
                    return use
                }
            } catch let error as UsageError {
                throw UsageError(message: "\(place): \(error.message)")
            }
        }
    }

    private static func options(of line: Substring) throws -> [OptionUse] {
        let words = words(of: line)
        guard words.first?.hasPrefix("-") ?? true else {
            throw UsageError(message: "only options can stand here, and not \"\(words[0])\"")
        }
        let (options, others) = try OptionReader.read(words)
        if let other = others.first {
            throw UsageError(message: "\(words[0]) takes no value, and \"\(other)\" stands behind it")
        }
        return options
    }

    /// Returns the words of a line: an option, and its value if white space separates them.
    ///
    /// `#` begins a comment at the start of the line, or after white space outside quotes.
    static func words(of line: some StringProtocol) -> [String] {
        let line = line.trimmingCharacters(in: .whitespaces)
        guard !line.isEmpty, !line.hasPrefix("#") else { return [] }
        let halves = withoutComment(line).trimmingCharacters(in: .whitespaces).split(
            maxSplits: 1, whereSeparator: \.isWhitespace
        ).map(String.init)
        guard halves.count == 2 else { return halves }
        var value = halves[1].trimmingCharacters(in: .whitespaces)
        if value.count >= 2, let quote = value.first, "\"'".contains(quote), value.last == quote {
            value = String(value.dropFirst().dropLast())
        }
        return [halves[0], value]
    }

    /// Returns a line without its comment.
    ///
    /// A quotation mark opens quotes only after white space or `=`, so that an apostrophe in a word does not.
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

/// The folder of the user's settings, and the environment variables that change its place.
enum ConfigurationFolder {
    /// The variables that name files and folders; `ProcessInfo` would copy the whole environment.
    static var environment: [String: String] {
        ["FIREWEED_CONFIG", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME"].reduce(into: [:]) { found, name in
            if let value = getenv(name) { found[name] = String(cString: value) }
        }
    }

    /// Returns `$XDG_CONFIG_HOME/fireweed` if the variable is an absolute path, else `~/.config/fireweed`.
    static func path(environment: [String: String] = environment) -> String {
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return "\(base)/fireweed" }
        return "\(environment["HOME"] ?? NSHomeDirectory())/.config/fireweed"
    }
}
