// Completions of bash, generated from the table of options.

/// The script for bash, which works without the package bash-completion.
enum BashCompletion {
    static var text: String {
        """
        # Completions of fireweed for bash; made by "fireweed --generate bash".

        # The names of the sessions that are kept.
        _fireweed_sessions()
        {
            local file
            for file in "\(Completions.sessionFolder)"/*.json; do
                [[ -e $file ]] && file=${file##*/} && echo "${file%.json}"
            done
        }

        # An item: the file of "@file", "f@file", "f=@file" and "f:=@file", or the name of a field.
        _fireweed_item()
        {
            local item=${COMP_LINE:0:COMP_POINT}
            item=${item##*[[:space:]]}
            if [[ $item == *@* ]]; then
                local path=${item#*@} file
                local start=${item%"$path"}
                # What readline replaces begins behind the last break, or with an "@" that is one.
                if [[ $COMP_WORDBREAKS == *@* ]]; then
                    start=@
                else
                    [[ $COMP_WORDBREAKS == *=* ]] && start=${start##*=}
                    [[ $COMP_WORDBREAKS == *:* ]] && start=${start##*:}
                fi
                while IFS= read -r file; do
                    [[ -d $file ]] && file+=/ && compopt -o nospace 2>/dev/null
                    COMPREPLY+=("$start$file")
                done < <(compgen -f -- "$path")
                compopt -o filenames 2>/dev/null
            elif [[ $item != *[=:]* ]]; then
                COMPREPLY=($(compgen -W "\(Completions.fields.joined(separator: " "))" -- "$item"))
                compopt -o nospace 2>/dev/null
            fi
        }

        _fireweed()
        {
            local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= options i
            COMPREPLY=()
            # bash takes "=" for a word of its own.
            if [[ $word == "=" ]]; then
                word=
            elif [[ $before == "=" && COMP_CWORD -gt 1 ]]; then
                before=${COMP_WORDS[COMP_CWORD-2]}
            fi
            for ((i = 1; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                    \(Subcommand.allCases.map(\.rawValue).joined(separator: "|"))) command=${COMP_WORDS[i]}; break ;;
                esac
            done

            case $before in
        \(values)
            esac

            case $command in
        \(Subcommand.allCases.map { "        \($0.rawValue)) options=\"\(names($0.options))\" ;;" }
            .joined(separator: "\n"))
                *) options="\(names(Subcommand.requestOptions))" ;;
            esac
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "$options" -- "$word"))
            elif [[ -z $command && COMP_CWORD -eq 1 ]]; then
                COMPREPLY=($(compgen -W "\(firstWords)" -- "$word"))
            elif [[ $command == serve ]]; then
                COMPREPLY=($(compgen -d -- "$word"))
                compopt -o filenames 2>/dev/null
            elif [[ $command != status ]]; then
                _fireweed_item
            fi
        }

        complete -o default -F _fireweed fireweed fw fws

        """
    }

    private static var firstWords: String {
        (Subcommand.allCases.map(\.rawValue) + ["help"] + Completions.methods).joined(separator: " ")
    }

    private static func names(_ options: [Option]) -> String {
        options.flatMap(\.names).joined(separator: " ")
    }

    /// The cases of a `case` on the word before the cursor: `help`, and the options with a value.
    private static var values: String {
        let help =
            "        help|--help) COMPREPLY=($(compgen -W \"\(Completions.topics.joined(separator: " "))\" -- \"$word\")); return ;;"
        let cases = Option.all.compactMap { option -> String? in
            let names = option.names.joined(separator: "|")
            switch option.completion {
            case nil: return nil
            case .files:
                return "        \(names)) COMPREPLY=($(compgen -f -- \"$word\")); "
                    + "compopt -o filenames 2>/dev/null; return ;;"
            case .words(let words):
                return
                    "        \(names)) COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$word\")); return ;;"
            case .sessions:
                return "        \(names)) COMPREPLY=($(compgen -W \"$(_fireweed_sessions)\" -- \"$word\") "
                    + "$([[ $word == */* ]] && compgen -f -- \"$word\")); return ;;"
            case .nothing: return "        \(names)) compopt +o default 2>/dev/null; return ;;"
            }
        }
        return ([help] + cases).joined(separator: "\n")
    }
}
