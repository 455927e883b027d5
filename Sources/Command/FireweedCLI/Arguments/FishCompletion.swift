// Completions of fish, made of the table of options.

/// A file `fireweed.fish` of commands `complete`.
enum FishCompletion {
    static var text: String {
        let commands = Subcommand.allCases.map(\.rawValue).joined(separator: " ")
        let subcommands = Subcommand.allCases.map {
            "complete -c fireweed -n __fish_use_subcommand -a \($0.rawValue) -d '\(quoted($0.summary))'"
        }
        let topics = Completions.topics.joined(separator: " ")
        let lines =
            [
                "# Completions of fireweed for fish; made by \"fireweed --generate fish\".", "",
                "set -l commands \(commands)",
                "complete -c fireweed -n __fish_use_subcommand -a '\(Completions.methods.joined(separator: " "))' -d Method",
            ] + subcommands + [
                "complete -c fireweed -n 'test (commandline -opc)[-1] = --help' -f -a '\(topics)'", "",
            ] + Option.all.map(line) + ["", "complete -c fw -w fireweed", "complete -c fws -w fireweed"]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func line(_ option: Option) -> String {
        var words = ["complete -c fireweed"]
        if let condition = condition(option) { words.append("-n \"\(condition)\"") }
        for name in option.names {
            words.append(name.hasPrefix("--") ? "-l \(name.dropFirst(2))" : "-s \(name.dropFirst())")
        }
        switch option.completion {
        case nil: break
        case .files: words.append("-r -F")
        case .words(let choices): words.append("-x -a '\(choices.joined(separator: " "))'")
        case .nothing: words.append("-x")
        }
        words.append("-d '\(quoted(Completions.summary(option)))'")
        return words.joined(separator: " ")
    }

    /// Where the option goes; `nil` for everywhere.
    private static func condition(_ option: Option) -> String? {
        let commands = Subcommand.allCases.filter { option.scope.contains($0.scope) }.map(\.rawValue)
        let isForRequests = !option.scope.isDisjoint(with: .response)
        if commands.count == Subcommand.allCases.count, isForRequests { return nil }
        let seen = "__fish_seen_subcommand_from"
        let others = Subcommand.allCases.map(\.rawValue).filter { !commands.contains($0) }
        if isForRequests { return "not \(seen) \(others.joined(separator: " "))" }
        return "\(seen) \(commands.joined(separator: " "))"
    }

    private static func quoted(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }
}
