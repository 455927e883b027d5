// Files that are installed with the program, generated from the table of options.

/// A file that `--generate` prints.
enum GeneratedFile: String, Sendable, CaseIterable {
    /// The manual page, for man(1).
    case man
    /// Completions of a shell.
    case bash, zsh, fish

    /// The file's content.
    var text: String {
        switch self {
        case .man: ManPage.text
        case .bash: BashCompletion.text
        case .zsh: ZshCompletion.text
        case .fish: FishCompletion.text
        }
    }
}

/// The subcommands; a command line without one makes a request.
enum Subcommand: String, CaseIterable {
    case ws, status, serve, fetch

    /// The scope of the options that the subcommand takes.
    var scope: OptionScope {
        switch self {
        case .ws: .webSocket
        case .status: .status
        case .serve: .serve
        case .fetch: .fetch
        }
    }

    /// The purpose of the subcommand, in a few words.
    var summary: String {
        switch self {
        case .ws: "Open a WebSocket"
        case .status: "Say whether a network or a host can be reached"
        case .serve: "Start a server to try things out against"
        case .fetch: "Make the requests of a list"
        }
    }

    /// The usage, without the name of the command.
    var usage: String {
        switch self {
        case .ws: "ws [OPTIONS] URL [ITEM ...]"
        case .status: "status [HOST[:PORT]|URL] [--watch]"
        case .serve: "serve [OPTIONS] [PORT] [FOLDER]"
        case .fetch: "fetch [OPTIONS] [URL ...] [Name:value ...]"
        }
    }

    /// The full description.
    var text: String {
        switch self {
        case .ws: HelpText.webSocket
        case .status: HelpText.status
        case .serve: HelpText.serve
        case .fetch: HelpText.fetch
        }
    }

    /// The options of a command line without a subcommand.
    static let requestOptions = Option.all.filter { !$0.scope.isDisjoint(with: .response) }

    /// The options that the subcommand takes, in the order of the table.
    var options: [Option] { Option.all.filter { $0.scope.contains(scope) } }
}
