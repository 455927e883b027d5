// The texts of the help and the man page that are not about one option.

import CommandLanguage

/// Paragraphs without line breaks, and lists of a term and its meaning.
enum HelpText {
    static let usage =
        ["[OPTIONS] [METHOD] URL [ITEM ...]", "[OPTIONS] --from-curl 'curl …'"]
        + Subcommand.allCases.map(\.usage) + ["help [all|TOPIC]"]

    static let about = [
        "Sends an HTTP request and prints the response: on a terminal with its head, in colour and with JSON indented; "
            + "in a pipe the content alone, byte for byte.",
        "URL: \":8080/path\" is http://localhost:8080/path; loopback hosts get http, all others https. METHOD is in "
            + "upper case, or one of the common ones.",
    ]

    static let items = [
        (
            "Name:value",
            "a header field; \"Name:\" leaves it out, \"Name;\" sends it empty, and Name:@file takes its "
                + "value from a file"
        ),
        ("name==value", "a parameter of the query;  name==@file"),
        ("field=text", "a field of the content, as text;  field=@file"),
        ("field:=json", "a field of the content, as JSON;  field:=@file"),
        ("field@file", "a file, with --form;  field@file;type=T;filename=N"),
        ("@file", "the whole content, as the only item of the content;  @file;type=T"),
        ("a[b][]=x [0][c]:=1", "a place in nested JSON"),
    ]

    static let escapes = "A backslash before a separator takes its meaning away."

    static let content =
        "Content comes from data items, --raw, @file, --upload or --from-curl; without these, from standard input, read "
        + "to its end, when that is a pipe, a file or a socket. More than 1 MiB from a pipe is sent as it is read, in "
        + "chunks. In a loop that reads a list from standard input, use -I."

    static let examples = [
        "fireweed httpbin.org/get q==term X-Token:abc",
        "fireweed PUT :8080/users/7 name=Ada tags[]=admin address[city]=Paris",
        "fireweed --form :8080/upload title=Plan 'file@plan.pdf;type=application/pdf'",
        "fireweed -a ada:secret --session work api.example/login",
        "fireweed -d https://example.org/large.iso --continue",
        "fireweed :8080/users --select '[].name'",
        "fireweed :8080/health --expect status==200 --expect json.ok==true",
    ]

    static let webSocket =
        "fireweed ws opens a WebSocket: at a prompt on a terminal (/help lists its commands), else each line of "
        + "standard input is a message, and standard output has the server's. It ends with the server's close, or "
        + "some time after the input's end (--wait)."

    static let status =
        "fireweed status says whether there is a route to the network, or to a host. With HOST:PORT or a URL it looks "
        + "the name up, connects, speaks TLS for https and wss, and says what it saw. Exit code 0 when all of it "
        + "works, 6 or 7 when not."

    static let serve =
        "fireweed serve starts a server on loopback to try things out against; it logs each request, lists its "
        + "endpoints at /, and stops with Ctrl-C. It has a WebSocket at /websocket and server-sent events at /sse. "
        + "With FOLDER it serves the files of the folder, in ranges and under conditions too; with --tls or --cert it "
        + "speaks TLS. With --har it answers from an HTTP archive, whatever the scheme and host of its URLs; what is "
        + "not in it gets a 501 that says what is nearest."

    static let fetch =
        "fireweed fetch makes the requests of a list: of the URLs on the command line, of a file (--from), or of standard "
        + "input. A line is a URL, or a JSON object with url, and perhaps method, headers, body and id; empty lines and "
        + "lines that begin with # are left out. Each request gets a record, one line of JSON on standard output or in "
        + "the file of --output: index, url, method, status, attempts, seconds, bytes, and body or body_base64, or the "
        + "file of --save; or error. A wrong line gets a record with an error too. Records come in the order in which "
        + "the requests end. After Ctrl-C, a kill or a loss of power the same command with --continue resumes: what has "
        + "a record in the file of --output, or is in the file of --journal, is not made again. Exit code 1 when a "
        + "record has an error."

    static let configuration =
        "~/.config/fireweed/config (or the file that FIREWEED_CONFIG names) has options that every run begins with, "
        + "one on each line. --no-NAME takes an option back, long names may be cut short, and short ones joined."

    static let exitCodes = [
        ("0", "success"), ("1", "failure"), ("2", "time-out"), ("3/4/5", "status under --check-status"),
        ("5", "an --expect that does not hold"), ("6", "network"), ("7", "TLS"), ("64", "wrong usage"),
        ("129, 130 and 143", "ended by SIGHUP, Ctrl-C and SIGTERM"),
    ]

    /// Files that the command reads or writes under fixed names.
    static let files = [
        ("~/.config/fireweed/config", "Options that every run begins with; $XDG_CONFIG_HOME moves it."),
        ("~/.config/fireweed/sessions/", "What --session NAME keeps."),
        ("~/.cache/fireweed/responses.sqlite", "What --cache keeps; $XDG_CACHE_HOME moves it."),
        ("~/.netrc", "Credentials for --netrc."),
    ]

    static let environment = [
        ("FIREWEED_CONFIG", "The configuration file, instead of the usual one."),
        ("NETRC", "The file of --netrc, instead of ~/.netrc."),
        (
            "http_proxy, https_proxy, all_proxy, no_proxy",
            "Proxies, and the hosts that are reached without them."
        ),
        ("NO_COLOR", "No colours, when it is not empty."),
    ]
}
