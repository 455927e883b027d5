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

            Options:
            \(options.joined(separator: "\n"))

            Exit codes: 0 success, 1 failure, 2 time-out, 3/4/5 status under --check-status, 6 network, 7 TLS,
            64 wrong usage, 130 interrupted.

            `fireweed serve` starts a server to try things out against; it stops with Ctrl-C.
            """
    }
}
