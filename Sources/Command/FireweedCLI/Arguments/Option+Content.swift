// Options about what is sent, and about curl commands.

import CommandLanguage

extension Option {
    static let contentOptions: [Option] = [
        Option(
            names: ["-j", "--json"], group: .content, effect: .flag { $0.givenForm = .json },
            example: "fireweed --json :8080/users name=Ada age:=36",
            help: "Send data items as JSON (the default); with --raw, a file or standard input: say that it is JSON.",
            scope: .request),
        Option(
            names: ["-f", "--form"], group: .content, effect: .flag { $0.givenForm = .form },
            example: "fireweed --form :8080/login user=ada password=secret",
            help:
                "Send data items as a form, with files as multipart/form-data; with --raw, a file or standard input: say "
                + "that it is a form.", scope: .request),
        Option(
            names: ["--multipart"], group: .content, effect: .flag { $0.givenForm = .multipart },
            example: "fireweed --multipart :8080/notes title=Plan",
            help: "Send data items as multipart/form-data, without a file too.", scope: .request),
        Option(
            names: ["--boundary"], group: .content,
            effect: .value("TEXT", expected: "1 to 70 ASCII letters, digits and '()+_,-./:=?") {
                $0.boundary = $1
                return Self.isBoundary($1)
            }, example: "fireweed --multipart --boundary frontier :8080/notes title=Plan",
            help: "What separates the parts of multipart/form-data.", scope: .request),
        Option(
            names: ["--raw"], group: .content, effect: .text("TEXT") { $0.rawBody = $1 },
            example: "fireweed --raw 'one two' :8080/echo Content-Type:text/plain",
            help:
                "Send this text as the content: an object or array of JSON as JSON, other text as text, unless -j or -f "
                + "says what it is.", scope: .request),
        Option(
            names: ["--upload"], group: .content, effect: .word("FILE") { $0.uploadFile = $1 },
            example: "fireweed PUT --upload backup.tar :8080/backups/7",
            help:
                "Send this file as the content, of whatever size; \"-\" is standard input. @FILE behind the URL does "
                + "the same.",
            scope: .request),
        Option(
            names: ["--chunked"], group: .content, effect: .flag { $0.sendsChunks = true },
            example: "fireweed --chunked --upload backup.tar :8080/backups",
            help: "Send content without its length, in chunks.", scope: .request),
        Option(
            names: ["--compress"], group: .content, effect: .flag { $0.compresses = true },
            example: "fireweed --compress :8080/log text=@build.log",
            help: "Compress the content with deflate; with ws, offer to compress messages.",
            scope: [.request, .webSocket]),
        Option(
            names: ["-I", "--ignore-stdin"], group: .content, effect: .flag { $0.ignoresStandardInput = true },
            example: "while read id; do fireweed -I :8080/users/$id; done < ids",
            help: "Do not read content from standard input: it may be a pipe that stays open, or the list of a loop.",
            scope: .response),
        Option(
            names: ["--default-scheme"], group: .content,
            effect: .choice("SCHEME", [("http", "http"), ("https", "https")]) { $0.defaultScheme = $1 },
            example: "fireweed --default-scheme http intranet/status",
            help: "The scheme of every URL that has none, of loopback hosts too.",
            scope: [.request, .webSocket, .fetch]),
    ]

    static let curlOptions: [Option] = [
        Option(
            names: ["--curl"], group: .curl, effect: .flag { $0.printsCURL = true },
            example: "fireweed --curl PUT :8080/users/7 name=Ada",
            help: "Print a curl command that sends the request, and send nothing."),
        Option(
            names: ["--from-curl"], group: .curl, effect: .text("COMMAND") { $0.curlCommand = $1 },
            example: "fireweed --from-curl 'curl -H X-Token:abc http://localhost:8080/'",
            help: "Send what this curl command would send, instead of URL and items."),
    ]

    /// Whether a text is a boundary by RFC 2046 §5.1.1; spaces are not accepted.
    private static func isBoundary(_ text: String) -> Bool {
        (1...70).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0)
                    || "'()+_,-./:=?".unicodeScalars.contains($0)
            }
    }
}
