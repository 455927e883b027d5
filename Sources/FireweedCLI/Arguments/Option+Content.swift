// Options about what is sent, and about curl commands.

import CommandLanguage

extension Option {
    static let contentOptions: [Option] = [
        Option(
            names: ["-j", "--json"], group: .content, effect: .flag { $0.bodyForm = .json },
            help: "Send data items as JSON (the default).", scope: .request),
        Option(
            names: ["-f", "--form"], group: .content, effect: .flag { $0.bodyForm = .form },
            help: "Send data items as a form; with files, as multipart/form-data.", scope: .request),
        Option(
            names: ["--multipart"], group: .content, effect: .flag { $0.bodyForm = .multipart },
            help: "Send data items as multipart/form-data, without a file too.", scope: .request),
        Option(
            names: ["--boundary"], group: .content,
            effect: .value("TEXT", expected: "1 to 70 ASCII letters, digits and '()+_,-./:=?") {
                $0.boundary = $1
                return Self.isBoundary($1)
            }, help: "What separates the parts of multipart/form-data.", scope: .request),
        Option(
            names: ["--raw"], group: .content, effect: .text("TEXT") { $0.rawBody = $1 },
            help: "Send this text as the content.", scope: .request),
        Option(
            names: ["--upload"], group: .content, effect: .word("FILE") { $0.uploadFile = $1 },
            help: "Send this file as the content, of whatever size; \"-\" is standard input.", scope: .request),
        Option(
            names: ["--chunked"], group: .content, effect: .flag { $0.sendsChunks = true },
            help: "Send content without its length, in chunks.", scope: .request),
        Option(
            names: ["--compress"], group: .content, effect: .flag { $0.compresses = true },
            help: "Compress the content with deflate; with ws, offer to compress messages.",
            scope: [.request, .webSocket]),
        Option(
            names: ["-I", "--ignore-stdin"], group: .content, effect: .flag { $0.ignoresStandardInput = true },
            help: "Do not read content from standard input: it may be a pipe that stays open, or the list of a loop.",
            scope: .response),
        Option(
            names: ["--default-scheme"], group: .content,
            effect: .choice("SCHEME", [("http", "http"), ("https", "https")]) { $0.defaultScheme = $1 },
            help: "The scheme of every URL that has none, of loopback hosts too.", scope: [.request, .webSocket]),
    ]

    static let curlOptions: [Option] = [
        Option(
            names: ["--curl"], group: .curl, effect: .flag { $0.printsCURL = true },
            help: "Print a curl command that sends the request, and send nothing."),
        Option(
            names: ["--from-curl"], group: .curl, effect: .text("COMMAND") { $0.curlCommand = $1 },
            help: "Send what this curl command would send, instead of URL and items."),
    ]

    /// RFC 2046 §5.1.1, without the space.
    private static func isBoundary(_ text: String) -> Bool {
        (1...70).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0)
                    || "'()+_,-./:=?".unicodeScalars.contains($0)
            }
    }
}
