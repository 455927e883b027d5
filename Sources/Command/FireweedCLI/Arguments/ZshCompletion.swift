// Completions of zsh, generated from the table of options.

/// The file `_fireweed`, for a folder of zsh's `fpath`.
enum ZshCompletion {
    static var text: String {
        """
        #compdef fireweed fw fws
        # Completions of fireweed for zsh; made by "fireweed --generate zsh".

        # The names of the sessions that are kept.
        _fireweed_sessions() {
            local -a names
            names=("\(Completions.sessionFolder)"/*.json(N:t:r))
            compadd -- $names
        }

        # An item: the file of "@file", "f@file", "f=@file" and "f:=@file", or the name of a field.
        _fireweed_item() {
            if compset -P '*@'; then
                _files
            else
                compadd -S '' -- \(Completions.fields.joined(separator: " "))
            fi
        }

        local command='' word
        for word in ${words[2,CURRENT-1]}; do
            case $word in
                \(Subcommand.allCases.map(\.rawValue).joined(separator: "|"))) command=$word; break ;;
            esac
        done

        if [[ ${words[CURRENT-1]} == (help|--help) ]]; then
            compadd -- \(Completions.topics.joined(separator: " "))
            return
        fi

        case $command in
        \(Subcommand.allCases.map { cases($0.rawValue, $0.options, rest: rest(of: $0)) }.joined(separator: "\n"))
        \(cases("*", Subcommand.requestOptions, rest: firstWord))
        esac

        """
    }

    private static let firstWord = "'1: :((\(words)))' '*: :_fireweed_item'"

    private static var words: String {
        (Subcommand.allCases.map { "\($0.rawValue)\\:\"\(described($0.summary))\"" }
            + ["help\\:\"Print help\""] + Completions.methods.map { "\($0)\\:\"Method\"" }).joined(separator: " ")
    }

    /// Returns the completion of the words after the subcommand; `_arguments` counts the subcommand as the first word.
    private static func rest(of command: Subcommand) -> String {
        switch command {
        case .serve: "'*: :_files -/'"
        case .status: "'*: :'"
        case .ws, .fetch: "'*: :_fireweed_item'"
        }
    }

    private static func cases(_ pattern: String, _ options: [Option], rest: String) -> String {
        (["    \(pattern)) _arguments -s -S \\"] + options.flatMap(arguments).map { "        \($0) \\" }
            + ["        \(rest) ;;"])
            .joined(separator: "\n")
    }

    /// Returns one argument of `_arguments` for each name: `'*--name=[what it does]:VALUE:action'`.
    private static func arguments(_ option: Option) -> [String] {
        option.names.map { name in
            let text = "[\(described(Completions.summary(option)))]"
            guard let valueName = option.valueName else { return "'*\(name)\(text)'" }
            let action =
                switch option.completion {
                case .files: "_files"
                case .words(let words): "(\(words.joined(separator: " ")))"
                case .sessions: "_fireweed_sessions"
                case .nothing, nil: ""
                }
            let sign = name.hasPrefix("--") ? "=" : "+"
            return "'*\(name)\(sign)\(text):\(described(valueName)):\(action)'"
        }
    }

    /// Escapes text for a description in single quotes, in which brackets and colons have a meaning for `_arguments`.
    private static func described(_ text: String) -> String {
        text.replacing("\\", with: "").replacing("'", with: "'\\''").replacing("\"", with: "").replacing(
            "[", with: "\\["
        )
        .replacing("]", with: "\\]").replacing(":", with: "\\:")
    }
}
