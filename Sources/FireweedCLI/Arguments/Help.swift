// The help, made of the table of options.

import CommandLanguage

/// What `--help` prints.
enum Help {
    /// Columns of a terminal.
    static let width = 80
    private static let indentation = 26

    /// Everything.
    static var whole: String {
        [
            usage, about, items, examples,
            Option.Group.allCases.map { section($0.rawValue, options(of: $0)) }.joined(separator: "\n\n"),
            webSocketText, statusText, serveText, configurationText, exitCodes,
        ].joined(separator: "\n\n")
    }

    /// What most people need.
    static var short: String {
        [usage, about, items, examples, section("The options that are used most", common), more].joined(
            separator: "\n\n")
    }

    /// The help about a topic: everything for `all`, the page of a subcommand, the options of a group, the short help
    /// for `nil`.
    static func text(of topic: String?) -> String {
        switch topic?.lowercased() {
        case nil: short
        case "all": whole
        case "ws":
            [
                "Usage: fireweed ws [OPTIONS] URL [ITEM ...]", webSocketText,
                section("Options", Option.all.filter { $0.scope.contains(.webSocket) }),
            ].joined(separator: "\n\n")
        case "status":
            [
                "Usage: fireweed status [HOST[:PORT]|URL] [--watch]", statusText,
                section("Options", Option.all.filter { $0.scope.contains(.status) }),
            ].joined(separator: "\n\n")
        case "serve":
            [
                "Usage: fireweed serve [OPTIONS] [PORT] [FOLDER]", serveText,
                section("Options", Option.all.filter { $0.scope.contains(.serve) }),
            ].joined(separator: "\n\n")
        case let topic?:
            group(topic).map { section($0.rawValue, options(of: $0)) } ?? short
        }
    }

    /// Whether there is help about a word.
    static func isTopic(_ word: String) -> Bool {
        ["all", "ws", "status", "serve"].contains(word.lowercased()) || group(word) != nil
    }

    /// The group of options whose title begins with a word, without case.
    private static func group(_ word: String) -> Option.Group? {
        guard !word.isEmpty else { return nil }
        return Option.Group.allCases.first { $0.rawValue.lowercased().hasPrefix(word.lowercased()) }
    }

    private static let commonNames = [
        "--form", "--raw", "--upload", "--verbose", "--headers", "--body", "--select", "--offline", "--output",
        "--download", "--continue", "--check-status", "--expect", "--parallel", "--auth", "--session", "--no-follow",
        "--timeout", "--retry", "--proxy", "--insecure", "--curl", "--from-curl",
    ]

    private static var common: [Option] {
        commonNames.compactMap { name in Option.all.first { $0.names.contains(name) } }
    }

    private static var more: String {
        let topics = Option.Group.allCases.map { $0.rawValue.split(separator: ",")[0].split(separator: " ")[0] }
        return paragraph(
            "fireweed --help all prints every option, the exit codes and the configuration file. fireweed --help TOPIC "
                + "prints one part: ws, status, serve, or a group of options: "
                + topics.filter { !["fireweed", "The"].contains($0) }.joined(separator: ", ") + ".")
    }

    private static func options(of group: Option.Group) -> [Option] { Option.all.filter { $0.group == group } }

    private static func section(_ title: String, _ options: [Option]) -> String {
        ([title + ":"] + options.map(row)).joined(separator: "\n")
    }

    private static func row(_ option: Option) -> String {
        let heading = "  " + option.heading
        let lines = wrapped(option.help, to: width - indentation)
        let space = String(repeating: " ", count: indentation)
        let isShort = heading.count < indentation - 1
        let first =
            isShort
            ? heading + String(repeating: " ", count: indentation - heading.count) + (lines.first ?? "") : heading
        return ([first] + (isShort ? lines.dropFirst() : lines[...]).map { space + $0 }).joined(separator: "\n")
    }

    /// Text in lines of at most so many columns.
    static func wrapped(_ text: String, to width: Int) -> [String] {
        text.split(separator: " ").reduce(into: []) { lines, word in
            if let last = lines.last, last.count + word.count < width {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
    }

    private static func paragraph(_ text: String) -> String { wrapped(text, to: width).joined(separator: "\n") }

    private static let usage = """
        Usage: fireweed [OPTIONS] [METHOD] URL [ITEM ...]
               fireweed [OPTIONS] --from-curl 'curl …'
               fireweed ws [OPTIONS] URL [ITEM ...]
               fireweed status [HOST[:PORT]|URL] [--watch]
               fireweed serve [OPTIONS] [PORT] [FOLDER]
               fireweed --help all
        """

    private static let about = [
        paragraph(
            "Sends an HTTP request and prints the response: on a terminal with its head, in colour and with JSON "
                + "indented; in a pipe the content alone, byte for byte."),
        paragraph(
            "URL: \":8080/path\" is http://localhost:8080/path; loopback hosts get http, all others https. METHOD is "
                + "in upper case, or one of the common ones."),
    ].joined(separator: "\n\n")

    private static let items = """
        Items:
          Name:value              a header field; "Name:" leaves it out, "Name;" sends
                                  it empty, and Name:@file takes its value from a file
          name==value             a parameter of the query;  name==@file
          field=text              a field of the content, as text;  field=@file
          field:=json             a field of the content, as JSON;  field:=@file
          field@file              a file, with --form;  field@file;type=T;filename=N
          a[b][]=x [0][c]:=1      a place in nested JSON
          A backslash before a separator takes its meaning away.

        """
        + paragraph(
            "Content comes from data items, --raw, --upload or --from-curl; without these, from standard input, read "
                + "to its end, when that is a pipe, a file or a socket. More than 1 MiB from a pipe is sent as it is "
                + "read, in chunks. In a loop that reads a list from standard input, use -I.")

    private static let examples = """
        Examples:
          fireweed httpbin.org/get q==term X-Token:abc
          fireweed PUT :8080/users/7 name=Ada tags[]=admin address[city]=Paris
          fireweed --form :8080/upload title=Plan 'file@plan.pdf;type=application/pdf'
          fireweed -a ada:secret --session work api.example/login
          fireweed -d https://example.org/large.iso --continue
          fireweed :8080/users --select '[].name'
          fireweed :8080/health --expect status==200 --expect json.ok==true
        """

    private static let webSocketText = paragraph(
        "fireweed ws opens a WebSocket: at a prompt on a terminal (/help lists its commands), else each line of "
            + "standard input is a message, and standard output has the server's. It ends with the server's close, or "
            + "some time after the input's end (--wait).")

    private static let statusText = paragraph(
        "fireweed status says whether there is a route to the network, or to a host. With HOST:PORT or a URL it looks "
            + "the name up, connects, speaks TLS for https and wss, and says what it saw. Exit code 0 when all of it "
            + "works, 6 or 7 when not.")

    private static let serveText = paragraph(
        "fireweed serve starts a server on loopback to try things out against; it logs each request, lists its "
            + "endpoints at /, and stops with Ctrl-C. It has a WebSocket at /websocket and server-sent events at /sse. "
            + "With FOLDER it serves the files of the folder, with --tls or --cert it speaks TLS. With --har it "
            + "answers from an HTTP archive, whatever the scheme and host of its URLs; what is not in it gets a 501 "
            + "that says what is nearest.")

    private static let configurationText = paragraph(
        "~/.config/fireweed/config (or the file that FIREWEED_CONFIG names) has options that every run begins with, "
            + "one on each line. --no-NAME takes an option back, long names may be cut short, and short ones joined.")

    private static let exitCodes = paragraph(
        "Exit codes: 0 success, 1 failure, 2 time-out, 3/4/5 status under --check-status, 5 an --expect that does not "
            + "hold, 6 network, 7 TLS, 64 wrong usage, 129, 130 and 143 ended by SIGHUP, Ctrl-C and SIGTERM.")
}
