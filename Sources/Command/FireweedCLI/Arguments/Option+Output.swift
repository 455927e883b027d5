// Options about what is printed, saved and checked.

import CommandLanguage

extension Option {
    static let outputOptions: [Option] = [
        Option(
            names: ["-p", "--print"], group: .output,
            effect: .value("WHAT", expected: "letters of H, B, h, b and m") { invocation, text in
                guard text.allSatisfy("HhBbm".contains) else { return false }
                invocation.print = text
                return true
            },
            example: "fireweed --print Hh api.example",
            help: "What to print: H request head, B request content, h response head, b response content, m the time "
                + "that it took."),
        Option(
            names: ["-v", "--verbose"], group: .output,
            effect: .flag {
                $0.print = $0.isVerbose ? "HBhbm" : "HBhb"
                $0.isVerbose = true
            }, example: "fireweed --verbose api.example name=Ada",
            help: "Print request and response whole; -vv prints the time that it took too. With ws: the head of the "
                + "handshake's response. With fetch: the heads of every exchange, on standard error.",
            scope: [.response, .webSocket, .fetch]),
        Option(
            names: ["-h", "--headers"], group: .output, effect: .flag { $0.print = "h" },
            example: "fireweed --headers api.example",
            help: "Print the response's head alone."),
        Option(
            names: ["-b", "--body"], group: .output, effect: .flag { $0.print = "b" },
            example: "fireweed --body api.example",
            help: "Print the response's content alone."),
        Option(
            names: ["--all"], group: .output, effect: .flag { $0.showsAll = true },
            example: "fireweed --all -v api.example/old",
            help: "Print the heads of responses too that a redirect, a challenge or a retry followed."),
        Option(
            names: ["-m", "--meta"], group: .output, effect: .flag { $0.print = "m" },
            example: "fireweed --meta api.example",
            help: "Print the time that it took alone."),
        Option(
            names: ["--select"], group: .output,
            effect: .value("PATH", expected: "a path such as .items[0].name, or .items[].id for all") {
                $0.selection = ValuePath($1)
                return $0.selection != nil
            },
            example: "fireweed --select '.items[].name' :8080/items",
            help: "Print the part of the JSON at PATH, one value a line and strings without quotes: .a.b a member, "
                + "[0] or [-1] an element, [] every one. With fetch: the record has it instead of the content.",
            scope: .anyRequest),
        Option(
            names: ["--pretty"], group: .output,
            effect: .choice("WHAT", Invocation.Prettiness.allCases.map { ($0.rawValue, $0) }) { $0.prettiness = $1 },
            example: "fireweed --pretty all :8080/items | less -R",
            help: "Colours, and JSON, XML and HTML indented: all (on a terminal), colors, format, or none (in a pipe)."),
        Option(
            names: ["--style"], group: .output,
            effect: .choice("NAME", ColourStyle.allCases.map { ($0.rawValue, $0) }) { $0.style = $1 },
            example: "fireweed --style light :8080/items",
            help:
                "The colours: standard, light (for a light background), mono (bold alone), and with 256 colours monokai and "
                + "solarized."),
        Option(
            names: ["--sorted"], group: .output, effect: .flag { $0.sortsOutput = true },
            example: "fireweed --sorted :8080/items",
            help: "Sort fields of heads and members of JSON by name."),
        Option(
            names: ["--unsorted"], group: .output, effect: .flag { $0.sortsOutput = false },
            example: "fireweed --unsorted :8080/items",
            help: "Keep them in their order (the default)."),
        Option(
            names: ["--indent"], group: .output, effect: .count(0...16) { $0.indent = $1 },
            example: "fireweed --indent 2 :8080/items",
            help: "Indent JSON by N spaces. Default: 4."),
        Option(
            names: ["--response-charset"], group: .output,
            effect: .value("NAME", expected: "a character set such as utf-8 or latin1") {
                $0.responseCharset = $1
                return CharacterSetDecoder($1) != nil
            }, example: "fireweed --response-charset latin1 old.example/page",
            help: "Read the response's text in this character set, whatever it says."),
        Option(
            names: ["--response-mime"], group: .output, effect: .word("TYPE") { $0.responseType = $1 },
            example: "fireweed --response-mime application/json :8080/items",
            help: "Print the response as if it had this media type."),
        Option(
            names: ["-S", "--stream"], group: .output, effect: .flag { $0.isStreamed = true },
            example: "fireweed --stream :8080/events",
            help: "Print JSON too as it arrives on a terminal, and send standard input as it is read."),
        Option(
            names: ["--offline"], group: .output, effect: .flag { $0.isOffline = true },
            example: "fireweed --offline :8080/users name=Ada tags[]=admin",
            help: "Print the request, and send nothing. Files and forms of 64 KiB and more are named, not shown.",
            scope: .response),
        Option(
            names: ["-q", "--quiet"], group: .output, effect: .flag { $0.isQuiet = true },
            example: "fireweed --quiet -o page.html example.org",
            help: "Print nothing but failures; -o and -d still save. With fetch: print the records of failures alone.",
            scope: .anyRequest),
        Option(
            names: ["--debug"], group: .output, effect: .flag { $0.showsDebugging = true },
            example: "fireweed --debug api.example",
            help: "Say on standard error what the libraries are, and what they do."),
        Option(
            names: ["--timing"], group: .output, effect: .flag { $0.showsTiming = true },
            example: "fireweed --timing api.example",
            help: "Draw where the time went, on standard error."),
    ]

    static let fileOptions: [Option] = [
        Option(
            names: ["-o", "--output"], group: .files, effect: .text("FILE") { $0.outputFile = $1 },
            example: "fireweed --output page.html example.org",
            help: "Write the content to FILE when all of it has come, and only that of a 2xx; \"-\" is standard "
                + "output.", scope: .anyRequest),
        Option(
            names: ["--any-status"], group: .files, effect: .flag { $0.savesAnyStatus = true },
            example: "fireweed --any-status -o page.html example.org/missing",
            help: "With -o and -d: save the content whatever the status, that of a 404 or 503 too."),
        Option(
            names: ["-d", "--download"], group: .files, effect: .flag { $0.isDownload = true },
            example: "fireweed --download https://example.org/large.iso",
            help: "Download to a file named by the response or the URL, with a bar."),
        Option(
            names: ["-c", "--continue"], group: .files, effect: .flag { $0.goesOn = true },
            example: "fireweed --continue https://example.org/large.iso",
            help: "Download, and go on where an earlier run of the same command was interrupted.", scope: .anyRequest),
        Option(
            names: ["--remote-time"], group: .files, effect: .flag { $0.keepsRemoteTime = true },
            example: "fireweed --remote-time -d https://example.org/large.iso",
            help: "With -o and -d: give the file the time of Last-Modified."),
        Option(
            names: ["--max-expansion"], group: .files,
            effect: .value("RATIO", expected: "a whole number above 0, or none") { invocation, text in
                guard let ratio = text == "none" ? Int.max : Int(text), ratio > 0 else { return false }
                invocation.maximumExpansion = ratio
                return true
            },
            example: "fireweed --max-expansion 1000 api.example/zeros > zeros",
            help: "Refuse compressed content that gets more than RATIO times longer, from 16 MiB on; none never does. "
                + "Default: 200.",
            scope: .anyRequest),
        Option(
            names: ["--har"], group: .files, effect: .word("FILE") { $0.archiveFile = $1 },
            example: "fireweed --har trace.har api.example",
            help: "Record every exchange in FILE, an HTTP archive, without credentials and cookies; of content, JSON, "
                + "XML, forms and events without their secrets, and no other text. With serve, answer from FILE.",
            scope: [.response, .serve]),
    ]

    static let checkOptions: [Option] = [
        Option(
            names: ["--check-status"], group: .checks, effect: .flag { $0.checksStatus = true },
            example: "fireweed --check-status :8080/health",
            help: "Exit with 3, 4 or 5 for a status of 3xx, 4xx or 5xx, and say which."),
        Option(
            names: ["--fail-with-body"], group: .checks, effect: .flag { $0.failsWithContent = true },
            example: "fireweed --fail-with-body -o answer.json :8080/users name=Ada",
            help: "As --check-status; -o and -d save the content too, whatever the status is."),
        Option(
            names: ["--expect"], group: .checks,
            effect: .value("FACT", expected: "a fact such as status==200, header.content-type~=json or json.id==7") {
                guard let expectation = Expectation($1) else { return false }
                $0.expectations.append(expectation)
                return true
            },
            example: "fireweed --expect status==200 --expect json.ok==true :8080/health",
            help: "Exit with 5 unless this holds: status, header.NAME, json.PATH, body or time (in seconds), then "
                + "==, !=, <, <=, >, >= or ~= (contains), then a value. May be given several times. With fetch: the "
                + "record gets an error, and the exit code is 1.", scope: .anyRequest),
        Option(
            names: ["-w", "--write-out"], group: .checks, effect: .text("FORMAT") { $0.writeOut = $1 },
            example: "fireweed -q --write-out '%{http_code} %{time_total}\\n' example.org",
            help: "At the end, print FORMAT on standard output, with curl's %{http_code}, %{time_total}, "
                + "%{size_download} and so on; %{json} has them all, %{stderr} and %{onerror} say where and when."),
    ]
}
