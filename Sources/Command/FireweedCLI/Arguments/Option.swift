// The options of the command: one table, from which the parser, the help, the man page and the completions are made.

import CommandLanguage

/// The change that an option makes in an invocation.
enum OptionEffect: Sendable {
    /// A switch.
    case flag(@Sendable (inout Invocation) -> Void)
    /// An option with a value: the value's name in the help, the valid values for an error, and the closure that sets
    /// it.
    ///
    /// `choices` are the words that a shell completes. The closure returns false for an invalid value.
    case value(String, expected: String, choices: [String] = [], @Sendable (inout Invocation, String) -> Bool)
}

/// The candidates that a shell offers for the value of an option.
enum ValueCompletion: Equatable, Sendable {
    /// Files, with their folders.
    case files
    /// One of these words.
    case words([String])
    /// The names of the saved sessions.
    case sessions
    /// No candidates: only the user knows the value.
    case nothing
}

/// The kinds of command lines that an option may be used in.
struct OptionScope: OptionSet, Sendable {
    let rawValue: Int

    static let request = OptionScope(rawValue: 1 << 0)
    static let webSocket = OptionScope(rawValue: 1 << 1)
    static let status = OptionScope(rawValue: 1 << 2)
    static let serve = OptionScope(rawValue: 1 << 3)
    /// A request that a curl command describes.
    static let fromCURL = OptionScope(rawValue: 1 << 4)
    /// The requests of a list.
    static let fetch = OptionScope(rawValue: 1 << 5)

    /// Every kind that makes exchanges, except `fetch`.
    static let single: OptionScope = [.request, .webSocket, .fromCURL]
    /// Every kind that makes exchanges.
    static let exchange: OptionScope = [.request, .webSocket, .fromCURL, .fetch]
    /// Every kind that makes TLS handshakes as a client.
    static let handshake: OptionScope = [.exchange, .status]
    /// Every request whose response is printed or saved.
    static let response: OptionScope = [.request, .fromCURL]
    /// Every request, including the requests of a list.
    static let anyRequest: OptionScope = [.request, .fromCURL, .fetch]
    static let all: OptionScope = [.request, .webSocket, .status, .serve, .fromCURL, .fetch]
}

/// One row of the table.
struct Option: Sendable {
    /// The section of the help that lists an option.
    enum Group: String, CaseIterable, Sendable {
        case content = "Content"
        case output = "Output"
        case files = "Files"
        case checks = "Scripts"
        case exchange = "Redirects, retries and time"
        case identity = "Credentials and sessions"
        case connection = "Connection"
        case trust = "TLS"
        case curl = "curl"
        case webSocket = "fireweed ws"
        case status = "fireweed status"
        case serve = "fireweed serve"
        case fetch = "fireweed fetch"
        case general = "The command"
    }

    let names: [String]
    let group: Group
    let effect: OptionEffect
    /// A command line that uses the option, for the man page; a shell can run it as it is.
    let example: String
    let help: String
    var scope: OptionScope = .response

    /// `-o, --output FILE`.
    var heading: String {
        let joined = names.joined(separator: ", ")
        return valueName.map { "\(joined) \($0)" } ?? joined
    }

    /// The name of the value in the help; `nil` for a switch.
    var valueName: String? {
        switch effect {
        case .flag: nil
        case .value(let name, _, _, _): name
        }
    }

    /// The candidates that a shell offers for the value; `nil` for a switch.
    var completion: ValueCompletion? {
        guard case .value(let name, _, let choices, _) = effect else { return nil }
        if !choices.isEmpty { return .words(choices) }
        if names.contains(where: { $0.hasPrefix("--session") }) { return .sessions }
        return name.contains("FILE") ? .files : .nothing
    }

    static let all: [Option] =
        contentOptions + outputOptions + fileOptions + checkOptions + exchangeOptions + identityOptions
        + connectionOptions + trustOptions + curlOptions + socketOptions + serveOptions + fetchOptions
        + generalOptions

    /// Returns the option with a name, or with an unambiguous prefix of a long name; throws `UsageError`.
    ///
    /// An option of another command (``ForeignOption``, ``CURLRow``) is not read as a prefix: `--header` is not short
    /// for `--headers`, nor `--fail` for `--fail-with-body`.
    static func named(_ name: String) throws -> Option {
        if let exact = all.first(where: { $0.names.contains(name) }) { return exact }
        let isOfCURL = name.hasPrefix("--") && CURLRow.exactly(String(name.dropFirst(2))) != nil
        let hint = ForeignOption.hint(for: name) ?? (isOfCURL ? "--from-curl takes it in a curl command" : nil)
        let mayBeShort = hint == nil && name.hasPrefix("--") && name.count > 2
        let candidates = mayBeShort ? all.filter { $0.hasName(beginningWith: name) } : []
        guard let first = candidates.first else {
            throw UsageError(message: "there is no option \(name); \(hint ?? "see fireweed --help")")
        }
        guard candidates.count == 1 else {
            let names = candidates.flatMap(\.names).filter { $0.hasPrefix(name) }.joined(separator: ", ")
            throw UsageError(message: "\(name) could be \(names)")
        }
        return first
    }

    private func hasName(beginningWith text: String) -> Bool {
        names.contains { $0.hasPrefix(text) }
    }
}

extension OptionEffect {
    /// An option whose value is any text.
    static func text(_ name: String, _ set: @escaping @Sendable (inout Invocation, String) -> Void) -> OptionEffect {
        .value(name, expected: "a value") {
            set(&$0, $1)
            return true
        }
    }

    /// An option whose value is a text that is not empty.
    static func word(_ name: String, _ set: @escaping @Sendable (inout Invocation, String) -> Void) -> OptionEffect {
        .value(name, expected: "a value that is not empty") {
            set(&$0, $1)
            return !$1.isEmpty
        }
    }

    /// An option whose value is a time in seconds above 0.
    static func seconds(_ set: @escaping @Sendable (inout Invocation, Double) -> Void) -> OptionEffect {
        .value("SECONDS", expected: "a number of seconds above 0") { invocation, text in
            guard let seconds = Double(text), seconds > 0, seconds <= 1e9 else { return false }
            set(&invocation, seconds)
            return true
        }
    }

    /// An option whose value is a time in seconds; 0 means no limit, and `set` then gets `nil`.
    static func limit(_ set: @escaping @Sendable (inout Invocation, Double?) -> Void) -> OptionEffect {
        .value("SECONDS", expected: "a number of seconds, or 0 for none") { invocation, text in
            guard let seconds = Double(text), seconds >= 0, seconds <= 1e9 else { return false }
            set(&invocation, seconds == 0 ? nil : seconds)
            return true
        }
    }

    /// An option whose value is a whole number in a range.
    static func count(
        _ range: ClosedRange<Int>, _ set: @escaping @Sendable (inout Invocation, Int) -> Void
    ) -> OptionEffect {
        .value("N", expected: "a whole number from \(range.lowerBound) to \(range.upperBound)") { invocation, text in
            guard let count = Int(text), range.contains(count) else { return false }
            set(&invocation, count)
            return true
        }
    }

    /// An option whose value is one of a few words, regardless of case; `hint` follows the words in the error for
    /// another word.
    static func choice<Value: Sendable>(
        _ name: String, _ choices: [(String, Value)], hint: String = "",
        _ set: @escaping @Sendable (inout Invocation, Value) -> Void
    ) -> OptionEffect {
        let words = choices.map(\.0)
        let expected = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "") + hint
        return .value(name, expected: expected, choices: words) { invocation, text in
            guard let choice = choices.first(where: { $0.0 == text.lowercased() }) else { return false }
            set(&invocation, choice.1)
            return true
        }
    }
}
