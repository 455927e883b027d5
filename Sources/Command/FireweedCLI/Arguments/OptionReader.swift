// Parsing of words into options and their values; pure.

import CommandLanguage

/// One use of an option, on the command line or in the configuration file.
struct OptionUse: Sendable {
    let option: Option
    /// The option's name as written, for messages.
    let written: String
    /// The option's value; `nil` for a switch.
    let value: String?
    /// True for `--no-NAME`, which cancels earlier uses.
    var isCancellation = false
    /// The file and line of an option in the configuration file; `nil` on the command line.
    var place: String?

    /// Returns a message, prefixed with the line of the configuration file that has caused it.
    ///
    /// The line is that of the last option in `configured` that is not in `words`, and whose name, or value of more
    /// than three characters, is in the message. Without such an option, the message is unchanged.
    static func placed(_ message: String, in configured: [OptionUse], beside words: [String]) -> String {
        let named = Set(message.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.map(String.init))
        let use = configured.last { use in
            let isGiven = words.contains { word in use.option.names.contains { word == $0 || word.hasPrefix("\($0)=") }
            }
            // A message about a file contains the path, which is the option's value, but not the option's name.
            let isFile = use.value.map { $0.count > 3 && message.contains($0) } ?? false
            return !isGiven && (isFile || use.option.names.contains(where: named.contains))
        }
        guard let place = use?.place, !message.hasPrefix(place) else { return message }
        return "\(place): \(message)"
    }

    /// Whether this use of `--no-NAME` takes back one of these uses.
    func cancels(anyOf uses: [OptionUse]) -> Bool {
        uses.contains { !$0.isCancellation && $0.option.names == option.names }
    }

    func apply(to invocation: inout Invocation) throws {
        switch option.effect {
        case .flag(let set): set(&invocation)
        case .value(_, let expected, _, let set):
            let value = value ?? ""
            guard set(&invocation, value) else {
                let message = "\(written) needs \(expected), not \"\(URLShorthand.withoutUserInfo(value).url)\""
                throw UsageError(message: place.map { "\($0): \(message)" } ?? message)
            }
        }
    }

    /// Returns the error for an option that has no effect in a kind of command line.
    func misplaced(_ scope: OptionScope) -> UsageError {
        let place =
            switch scope {
            case .webSocket: "fireweed ws"
            case .status: "fireweed status"
            case .serve: "fireweed serve"
            case .fromCURL: "--from-curl"
            case .fetch: "fireweed fetch"
            default:
                if option.group == .fetch {
                    "a request; it is for fireweed fetch"
                } else {
                    option.scope.contains(.webSocket) ? "a request; it is for fireweed ws" : "a request"
                }
            }
        return UsageError(message: "\(written) does not go with \(place)")
    }
}

/// Reads options: `--name value`, `--name=value`, `-n value`, `-nvalue`, `-vb`, prefixes of long names, `--no-name`.
enum OptionReader {
    /// Returns the options and the other words, each in their order; throws `UsageError`.
    static func read(_ arguments: [String]) throws -> (options: [OptionUse], words: [String]) {
        var options: [OptionUse] = []
        var words: [String] = []
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if word == "--" {
                words += rest
                break
            } else if word.hasPrefix("--") {
                options.append(try long(word, &rest))
            } else if word.hasPrefix("-"), word.count > 1 {
                options += try short(word, &rest)
            } else {
                words.append(word)
            }
        }
        return (options, words)
    }

    /// Returns the uses that are left after each `--no-NAME` has removed the earlier uses of its option.
    static func cancelling(_ uses: [OptionUse]) -> [OptionUse] {
        uses.reduce(into: []) { kept, use in
            if use.isCancellation {
                kept.removeAll { $0.option.names == use.option.names }
            } else {
                kept.append(use)
            }
        }
    }

    private static func long(_ word: String, _ rest: inout ArraySlice<String>) throws -> OptionUse {
        let halves = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = halves[0]
        if halves.count == 1, let cancelled = cancelled(name) {
            return OptionUse(option: cancelled, written: name, value: nil, isCancellation: true)
        }
        let option = try Option.named(name)
        guard case .value(let valueName, _, _, _) = option.effect else {
            guard halves.count == 1 else { throw UsageError(message: "\(name) takes no value") }
            return OptionUse(option: option, written: name, value: nil)
        }
        guard let value = halves.count == 2 ? halves[1] : rest.popFirst() else {
            throw UsageError(message: "\(name) needs a value: \(valueName)")
        }
        return OptionUse(option: option, written: name, value: value)
    }

    /// Returns the option that `--no-NAME` cancels; `nil` if there is none, or if `--no-NAME` is itself an option.
    private static func cancelled(_ name: String) -> Option? {
        guard name.hasPrefix("--no-"), (try? Option.named(name)) == nil else { return nil }
        return try? Option.named("--" + name.dropFirst(5))
    }

    private static func short(_ word: String, _ rest: inout ArraySlice<String>) throws -> [OptionUse] {
        var uses: [OptionUse] = []
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            let option = try Option.named(name)
            guard case .value(let valueName, _, _, _) = option.effect else {
                uses.append(OptionUse(option: option, written: name, value: nil))
                continue
            }
            guard let value = letters.isEmpty ? rest.popFirst() : String(letters) else {
                throw UsageError(message: "\(name) needs a value: \(valueName)")
            }
            uses.append(OptionUse(option: option, written: name, value: value))
            break
        }
        return uses
    }
}
