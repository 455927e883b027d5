// The help, generated from the table of options.

import CommandLanguage

/// The texts that `--help` prints.
enum Help {
    /// The width of the text, in columns.
    static let width = 80
    private static let indentation = 26

    /// The text of `--help all`.
    static var whole: String {
        let groups = Option.Group.allCases.map { section($0.rawValue, options(of: $0)) }
        let commands = Subcommand.allCases.map { paragraph($0.text) }
        let rest = [paragraph(HelpText.configuration), paragraph(exitCodes)]
        return ([usage, about, items, examples] + groups + commands + rest).joined(separator: "\n\n")
    }

    /// The text of `--help`, with the options that most people need.
    static var short: String {
        [usage, about, items, examples, section("The options that are used most", common), more].joined(
            separator: "\n\n")
    }

    /// Returns the help about a topic: everything for `all`, the page of a subcommand, the options of a group, the
    /// short help for `nil` and for any other word.
    static func text(of topic: String?) -> String {
        guard let topic = topic?.lowercased() else { return short }
        if topic == "all" { return whole }
        if let command = Subcommand(rawValue: topic) {
            return ["Usage: fireweed \(command.usage)", paragraph(command.text), section("Options", command.options)]
                .joined(separator: "\n\n")
        }
        return group(topic).map { section($0.rawValue, options(of: $0)) } ?? short
    }

    /// Whether there is help about a word.
    static func isTopic(_ word: String) -> Bool {
        word.lowercased() == "all" || Subcommand(rawValue: word.lowercased()) != nil || group(word) != nil
    }

    /// Returns the first group of options whose title begins with a word, ignoring case.
    private static func group(_ word: String) -> Option.Group? {
        guard !word.isEmpty else { return nil }
        return Option.Group.allCases.first { $0.rawValue.lowercased().hasPrefix(word.lowercased()) }
    }

    private static let commonNames = [
        "--form", "--raw", "--upload", "--verbose", "--headers", "--body", "--select", "--offline", "--output",
        "--download", "--continue", "--check-status", "--expect", "--parallel", "--auth", "--session", "--no-follow",
        "--timeout", "--retry", "--proxy", "--insecure", "--curl", "--from-curl",
    ]

    private static var common: [Option] {
        commonNames.compactMap { name in Option.all.first { $0.names.contains(name) } }
    }

    private static var more: String {
        paragraph(
            "fireweed --help all prints every option, the exit codes and the configuration file; man fireweed has an "
                + "example of each option too. fireweed --help TOPIC prints one part: "
                + Subcommand.allCases.map(\.rawValue).joined(separator: ", ") + ", or a group of options: "
                + groupTopics.joined(separator: ", ") + ".")
    }

    /// The words that `--help` accepts for groups of options.
    static var groupTopics: [String] {
        Option.Group.allCases.map { String($0.rawValue.split(separator: ",")[0].split(separator: " ")[0]) }
            .filter { !["fireweed", "The"].contains($0) }
    }

    private static func options(of group: Option.Group) -> [Option] { Option.all.filter { $0.group == group } }

    private static func section(_ title: String, _ options: [Option]) -> String {
        ([title + ":"] + options.map(row)).joined(separator: "\n")
    }

    private static func row(_ option: Option) -> String { row(option.heading, option.help) }

    private static func row(_ heading: String, _ text: String) -> String {
        let heading = "  " + heading
        let lines = wrapped(text, to: width - indentation)
        let space = String(repeating: " ", count: indentation)
        let isShort = heading.count < indentation - 1
        let first =
            isShort
            ? heading + String(repeating: " ", count: indentation - heading.count) + (lines.first ?? "") : heading
        return ([first] + (isShort ? lines.dropFirst() : lines[...]).map { space + $0 }).joined(separator: "\n")
    }

    /// Wraps text into lines of at most `width` columns; a longer word has its own line.
    static func wrapped(_ text: String, to width: Int) -> [String] {
        text.split(separator: " ").reduce(into: []) { lines, word in
            if let last = lines.last, last.count + word.count < width {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
    }

    private static func paragraph(_ text: String) -> String { wrapped(text, to: width).joined(separator: "\n") }

    private static var usage: String {
        HelpText.usage.enumerated().map { ($0.offset == 0 ? "Usage: " : "       ") + "fireweed \($0.element)" }
            .joined(separator: "\n")
    }

    private static var about: String { HelpText.about.map(paragraph).joined(separator: "\n\n") }

    private static var items: String {
        let rows = HelpText.items.map { row($0.0, $0.1) }
        return (["Items:"] + rows + ["  " + HelpText.escapes, "", paragraph(HelpText.content)]).joined(separator: "\n")
    }

    private static var examples: String {
        (["Examples:"] + HelpText.examples.map { "  " + $0 }).joined(separator: "\n")
    }

    private static var exitCodes: String {
        "Exit codes: " + HelpText.exitCodes.map { "\($0.0) \($0.1)" }.joined(separator: ", ") + "."
    }
}
