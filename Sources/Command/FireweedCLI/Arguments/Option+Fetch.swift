// Options about lists of requests.

extension Option {
    static let fetchOptions: [Option] = [
        Option(
            names: ["--from"], group: .fetch, effect: .word("FILE") { $0.listFile = $1 },
            example: "fireweed fetch --from urls.txt -o records.jsonl",
            help: "Read the list from FILE, after the URLs of the command line; \"-\" is standard input.", scope: .fetch
        ),
        Option(
            names: ["--jobs"], group: .fetch, effect: .count(1...1000) { $0.jobCount = $1 },
            example: "fireweed fetch --jobs 32 --from urls.txt -o records.jsonl",
            help: "Make N requests at a time. Default: 8.", scope: .fetch),
        Option(
            names: ["--per-host"], group: .fetch, effect: .count(1...1000) { $0.originLimit = $1 },
            example: "fireweed fetch --jobs 32 --per-host 2 --from urls.txt -o records.jsonl",
            help: "Make no more than N requests at a time to one scheme, host and port.", scope: .fetch),
        Option(
            names: ["--rate"], group: .fetch,
            effect: .value("RATE", expected: "a rate such as 10, 10/s, 100/m or 500/h") {
                $0.requestInterval = Self.interval($1)
                return $0.requestInterval != nil
            }, example: "fireweed fetch --rate 100/m --from urls.txt -o records.jsonl",
            help: "Begin no more than so many requests in a second (/s), a minute (/m) or an hour (/h) at one scheme, "
                + "host and port, evenly spaced, retries included; and none as long as Retry-After or a RateLimit field "
                + "of the host's responses asks for a pause. A request that waits is one of the --jobs.",
            scope: .fetch),
        Option(
            names: ["--journal"], group: .fetch, effect: .word("FILE") { $0.journalFile = $1 },
            example: "fireweed fetch --from urls.txt --journal done.jsonl | jq .status",
            help: "Note in FILE what is finished when records go to standard output, for --continue.", scope: .fetch),
        Option(
            names: ["--fleet"], group: .fetch, effect: .word("URL") { $0.fleetURL = $1 },
            example: "fireweed fetch --fleet redis://queue.example --queue crawl --from urls.txt -o records.jsonl",
            help: "Share the list with runs on other machines, over the Redis or Valkey at URL (redis://, rediss://, "
                + "redis+unix://, redis+sentinel://): each request is made by one of them, and made again when that "
                + "one is killed. --rate and --cache are shared too. A run without a list takes from that of the others.",
            scope: .fetch),
        Option(
            names: ["--queue"], group: .fetch, effect: .word("NAME") { $0.queueName = $1 },
            example: "fireweed fetch --fleet redis://queue.example --queue crawl -o more.jsonl",
            help: "The name of the list of --fleet, the same for all its runs; another list has another name.",
            scope: .fetch),
        Option(
            names: ["--lease"], group: .fetch, effect: .seconds { $0.leaseSeconds = $1 },
            example: "fireweed fetch --lease 5 --fleet redis://queue.example --queue crawl -o more.jsonl",
            help: "Seconds after which others take the requests of a run of --fleet that is not heard of. "
                + "Default: 30.", scope: .fetch),
        Option(
            names: ["--save"], group: .fetch, effect: .word("FOLDER") { $0.saveFolder = $1 },
            example: "fireweed fetch --save pages --from urls.txt -o records.jsonl",
            help: "Save each content in a file of FOLDER, named by the item's number and the URL. A file that is there "
                + "is not replaced, unless --continue goes on with records that were there.", scope: .fetch),
        Option(
            names: ["--omit-body"], group: .fetch, effect: .flag { $0.omitsContent = true },
            example: "fireweed fetch --omit-body --from urls.txt -o records.jsonl",
            help: "Leave contents out of the records.", scope: .fetch),
        Option(
            names: ["--max-body"], group: .fetch,
            effect: .value("SIZE", expected: "a number of bytes, such as 500000, 200K or 20M") {
                $0.maximumContentLength = Self.byteCount($1)
                return $0.maximumContentLength != nil
            }, example: "fireweed fetch --max-body 1M --from urls.txt -o records.jsonl",
            help: "Fail when a content is longer. Default: 10M without --save, no limit with it. With serve --uploads: "
                + "refuse longer files. Default: 1G.", scope: [.fetch, .serve]),
    ]

    /// Returns the time between two requests at a rate such as `10`, `10/s` or `0.5/m`; `nil` for any other text, and
    /// for less than 1 µs or more than a day.
    static func interval(_ text: String) -> Duration? {
        let units = ["s": 1.0, "m": 60, "h": 3600]
        let halves = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let seconds = units[halves.count == 2 ? halves[1] : "s"], let count = Double(halves[0]),
            halves[0].utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), count > 0,
            (1e-6...86_400).contains(seconds / count)
        else { return nil }
        return .seconds(seconds / count)
    }
}
