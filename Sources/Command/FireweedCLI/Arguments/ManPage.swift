// The manual page, generated from the table of options.

import Fireweed

/// `fireweed(1)`, in the macros of man(7).
enum ManPage {
    static var text: String {
        let parts = [
            ".TH FIREWEED 1 \"\" \"fireweed \(AFInfo.version)\" \"User Commands\"",
            section("NAME", ["fireweed \\- send HTTP requests from the terminal"]), synopsis,
            section("DESCRIPTION", paragraphs(HelpText.about)),
            section("ITEMS", list(HelpText.items) + paragraphs([HelpText.escapes, HelpText.content])),
            commands,
            options, section("EXIT STATUS", list(HelpText.exitCodes)),
            section("FILES", [escaped(HelpText.configuration)] + list(HelpText.files)),
            section("ENVIRONMENT", list(HelpText.environment)), examples,
            section("SEE ALSO", [".BR curl (1)"]),
        ]
        return parts.joined(separator: "\n") + "\n"
    }

    private static var synopsis: String {
        section("SYNOPSIS", HelpText.usage.flatMap { [".B fireweed", escaped($0), ".br"] }.dropLast())
    }

    private static var commands: String {
        section(
            "COMMANDS",
            Subcommand.allCases.flatMap { command in
                [
                    ".SS \(quoted("fireweed \(command.usage)"))", escaped(command.text), ".PP",
                    "Its options are:",
                ]
                    + [command.options.map { escaped($0.names.last ?? "") }.joined(separator: ", ") + "."]
            })
    }

    private static var options: String {
        section(
            "OPTIONS",
            Option.Group.allCases.flatMap { group in
                [".SS \(quoted(group.rawValue))"] + Option.all.filter { $0.group == group }.flatMap(lines)
            })
    }

    /// Returns the lines about an option: its names, its help and its example.
    private static func lines(of option: Option) -> [String] {
        let names = option.names.map { "\\fB\(escaped($0))\\fR" }.joined(separator: ", ")
        let value = option.valueName.map { " \\fI\(escaped($0))\\fR" } ?? ""
        return [".TP", names + value, escaped(option.help), ".RS", ".PP"] + code([option.example]) + [
            ".RE"
        ]
    }

    private static var examples: String { section("EXAMPLES", code(HelpText.examples)) }

    private static func section(_ title: String, _ lines: [String]) -> String {
        ([".SH \(quoted(title))"] + lines).joined(separator: "\n")
    }

    private static func paragraphs(_ texts: [String]) -> [String] {
        texts.flatMap { [".PP", escaped($0)] }
    }

    private static func list(_ rows: [(String, String)]) -> [String] {
        rows.flatMap { [".TP", ".B \(quoted($0.0))", escaped($0.1)] }
    }

    /// Returns lines of shell commands, marked so that roff keeps their line breaks.
    private static func code(_ lines: [String]) -> [String] { [".nf"] + lines.map(escaped) + [".fi"] }

    private static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

    /// Escapes text, so that roff finds no request and no escape in it, and prints it in ASCII characters.
    static func escaped(_ text: String) -> String {
        var result = text.first.map { ".'".contains($0) } == true ? "\\&" : ""
        for character in text {
            switch character {
            case "\\": result += "\\(rs"
            case "-": result += "\\-"
            case "\"": result += "\\(dq"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "…": result += "..."
            default: result.append(character)
            }
        }
        return result
    }
}
