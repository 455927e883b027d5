// The help, made of the table of options.

/// What `--help` prints.
enum Help {
    static var text: String {
        let options = Option.all.map { option in
            let heading = "  " + option.heading
            let padding = String(repeating: " ", count: max(1, 26 - heading.count))
            return heading.count < 25
                ? heading + padding + option.help : "\(heading)\n\(String(repeating: " ", count: 26))\(option.help)"
        }
        return """
            Usage: fireweed [OPTIONS] [METHOD] URL [ITEM ...]
                   fireweed [OPTIONS] --from-curl 'curl …'
                   fireweed ws [OPTIONS] URL [ITEM ...]
                   fireweed status [HOST] [--watch]
                   fireweed serve [PORT]

            Sends an HTTP request and prints the response: on a terminal with its head, in colour and with JSON indented; in a
            pipe the content alone, byte for byte.

            URL: ":8080/path" is http://localhost:8080/path; loopback hosts get http, all others https.

            Items:
              Name:value              a header field; "Name:" leaves it out, "Name;" sends it empty
              name==value             a parameter of the query
              field=text              a field of the content, as text;   field=@file  its text from a file
              field:=json             a field of the content, as JSON;   field:=@file its JSON from a file
              field@file              a file, with --form
              A backslash before a separator takes its meaning away.

            Content comes from data items, --raw, --upload or --from-curl; without these, from standard input, read to its end,
            when that is a pipe, a file or a socket. More than 1 MiB from a pipe is sent as it is read, in chunks.

            -o and -d save nothing but the content of a 2xx, all or nothing: a file that is there stays as it is until then.

            Options:
            \(options.joined(separator: "\n"))

            Exit codes: 0 success, 1 failure, 2 time-out, 3/4/5 status under --check-status, 6 network, 7 TLS,
            64 wrong usage, 129, 130 and 143 ended by SIGHUP, Ctrl-C and SIGTERM.

            `fireweed ws` opens a WebSocket: at a prompt on a terminal (/help lists its commands), else each line of standard
            input is a message, and standard output has the server's. It ends with the server's close, or some
            time after the input's end (--wait).

            `fireweed status` says whether the network, or a host, can be reached: exit code 0 when it can, 6 when not.

            `fireweed serve` starts a server to try things out against; it stops with Ctrl-C.
            """
    }
}
