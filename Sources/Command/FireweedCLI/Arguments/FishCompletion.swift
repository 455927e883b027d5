// Completions of fish, generated from the table of options.

/// The file `fireweed.fish`, which consists of `complete` commands.
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
                functions, "set -l commands \(commands)",
                "complete -c fireweed -n __fish_use_subcommand -a '\(Completions.methods.joined(separator: " "))' -d Method",
            ] + subcommands + [
                "complete -c fireweed -n __fish_use_subcommand -a help -d 'Print help'",
                "complete -c fireweed -n 'contains -- (commandline -opc)[-1] help --help' -f -a '\(topics)'",
                "complete -c fireweed -n 'not __fish_seen_subcommand_from status serve' -a '(__fireweed_item)'", "",
            ] + Option.all.map(line) + ["", "complete -c fw -w fireweed", "complete -c fws -w fireweed"]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Functions that fish calls for candidates: sessions, files of items, and names of fields.
    private static let functions = """
        function __fireweed_sessions
            set -l folder $HOME/.config
            set -q XDG_CONFIG_HOME; and set folder $XDG_CONFIG_HOME
            for file in $folder/fireweed/sessions/*.json
                string replace -r '.*/(.*)\\.json$' '$1' -- $file
            end
        end

        function __fireweed_item
            set -l word (commandline -ct)
            if string match -q '*@*' -- $word
                set -l path (string replace -r '.*@' '' -- $word)
                set -l start (string replace -r '[^@]*$' '' -- $word)
                for file in $path*
                    test -d $file; and set file $file/
                    echo $start$file
                end
            else if not string match -qr '[=:]' -- $word
                printf '%s\\n' \(Completions.fields.joined(separator: " "))
            end
        end

        """

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
        case .sessions: words.append("-x -a '(__fireweed_sessions)'")
        case .nothing: words.append("-x")
        }
        words.append("-d '\(quoted(Completions.summary(option)))'")
        return words.joined(separator: " ")
    }

    /// Returns the condition under which fish offers the option; `nil` when fish always offers it.
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
