// Options of `fireweed serve`.

extension Option {
    static let serveOptions: [Option] = [
        Option(
            names: ["--host"], group: .serve, effect: .word("HOST") { $0.servedHost = $1 },
            example: "fireweed serve --host 0.0.0.0 8080 public",
            help: "Listen at this address or name of the machine; 0.0.0.0 and :: are all of them. Default: 127.0.0.1, "
                + "which no other machine reaches.", scope: .serve),
        Option(
            names: ["--uploads"], group: .serve, effect: .flag { $0.takesUploads = true },
            example: "fireweed serve --uploads 8080 inbox",
            help: "With a folder: take the content of each PUT as a new file under it. No file is replaced, no link is "
                + "followed, and no name begins with a dot; --max-body is how long a file may be.", scope: .serve),
        Option(
            names: ["--status"], group: .serve,
            effect: .value("N", expected: "a status from 200 to 599") {
                $0.servedStatus = Int($1)
                return $0.servedStatus.map((200...599).contains) == true
            }, example: "fireweed serve --status 503 8080",
            help: "Answer every request with this status.", scope: .serve),
        Option(
            names: ["--delay"], group: .serve, effect: .seconds { $0.servedDelay = $1 },
            example: "fireweed serve --delay 2 8080 public",
            help: "With a folder or --status: wait so many seconds before each response.", scope: .serve),
    ]
}
