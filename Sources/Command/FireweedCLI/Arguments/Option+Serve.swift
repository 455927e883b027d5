// Options of `fireweed serve`.

extension Option {
    static let serveOptions: [Option] = [
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
