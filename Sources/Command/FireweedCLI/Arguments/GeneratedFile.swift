// Files that an installation has beside the program, made of the table of options.

/// What `--generate` prints.
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

/// The words of a command line that are not options, as completions know them.
enum Subcommand: String, CaseIterable {
    case ws, status, serve, fetch

    /// The options that go with it.
    var scope: OptionScope {
        switch self {
        case .ws: .webSocket
        case .status: .status
        case .serve: .serve
        case .fetch: .fetch
        }
    }

    /// What it does, in a few words.
    var summary: String {
        switch self {
        case .ws: "Open a WebSocket"
        case .status: "Say whether a network or a host can be reached"
        case .serve: "Start a server to try things out against"
        case .fetch: "Make the requests of a list"
        }
    }

    /// Its usage, without the name of the command.
    var usage: String {
        switch self {
        case .ws: "ws [OPTIONS] URL [ITEM ...]"
        case .status: "status [HOST[:PORT]|URL] [--watch]"
        case .serve: "serve [OPTIONS] [PORT] [FOLDER]"
        case .fetch: "fetch [OPTIONS] [URL ...] [Name:value ...]"
        }
    }

    /// What it does, whole.
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

    /// The options that go with it, in the order of the table.
    var options: [Option] { Option.all.filter { $0.scope.contains(scope) } }
}
