// The options of the command: one table that makes the parser and the help.

import Fireweed

/// What an option changes in an invocation.
enum OptionEffect: Sendable {
    /// A switch.
    case flag(@Sendable (inout Invocation) -> Void)
    /// An option with a value; the closure gives false when the value is none for it.
    case value(String, @Sendable (inout Invocation, String) -> Bool)
}

/// One row of the table.
struct Option: Sendable {
    let names: [String]
    let effect: OptionEffect
    let help: String

    /// `-o, --output FILE`.
    var heading: String {
        let joined = names.joined(separator: ", ")
        if case .value(let name, _) = effect { return "\(joined) \(name)" }
        return joined
    }

    static let all: [Option] =
        [
            Option(
                names: ["-j", "--json"], effect: .flag { $0.bodyForm = .json },
                help: "Send data items as JSON (the default)."),
            Option(
                names: ["-f", "--form"], effect: .flag { $0.bodyForm = .form },
                help: "Send data items as a form; with files, as multipart/form-data."),
            Option(
                names: ["--raw"],
                effect: .value("TEXT") {
                    $0.rawBody = $1; return true
                }, help: "Send this text as the content."),
            Option(
                names: ["--upload"],
                effect: .value("FILE") {
                    $0.uploadFile = $1; return true
                }, help: "Send this file as the content, of whatever size."),
            Option(
                names: ["--print"],
                effect: .value("WHAT") { invocation, text in
                    guard text.allSatisfy("HhBb".contains) else { return false }
                    invocation.print = text
                    return true
                }, help: "What to print: H request head, B request content, h response head, b response content."),
            Option(
                names: ["-v", "--verbose"],
                effect: .flag {
                    $0.print = "HBhb"; $0.isVerbose = true
                }, help: "Print request and response whole."),
            Option(
                names: ["-h", "--headers"], effect: .flag { $0.print = "h" }, help: "Print the response's head alone."),
            Option(
                names: ["-b", "--body"], effect: .flag { $0.print = "b" }, help: "Print the response's content alone."),
            Option(
                names: ["-o", "--output"],
                effect: .value("FILE") {
                    $0.outputFile = $1; return true
                },
                help:
                    "Write the content to FILE when all of it has come, and only that of a 2xx; \"-\" is standard output."
            ),
            Option(
                names: ["--any-status"], effect: .flag { $0.savesAnyStatus = true },
                help: "With -o and -d: save the content whatever the status, that of a 404 or 503 too."),
            Option(
                names: ["-d", "--download"], effect: .flag { $0.isDownload = true },
                help: "Download to a file named by the response or the URL, with a bar."),
            Option(
                names: ["-c", "--continue"], effect: .flag { $0.goesOn = true },
                help: "Download, and go on where an earlier run of the same command was interrupted."),
            Option(
                names: ["-S", "--stream"], effect: .flag { $0.isStreamed = true },
                help:
                    "Print content as it arrives, also on a terminal, and send standard input as it is read."),
            Option(
                names: ["-I", "--ignore-stdin"], effect: .flag { $0.ignoresStandardInput = true },
                help: "Do not read content from standard input, which may be a pipe that stays open."),
            Option(
                names: ["--timeout"],
                effect: .value("SECONDS") { invocation, text in
                    guard let seconds = Double(text), seconds > 0, seconds.isFinite else { return false }
                    invocation.timeout = seconds
                    return true
                }, help: "Give up after so many seconds without a byte. Default: 60."),
            Option(
                names: ["--follow"], effect: .flag { $0.followsRedirects = true },
                help: "Follow redirects (the default)."),
            Option(
                names: ["--no-follow"], effect: .flag { $0.followsRedirects = false }, help: "Do not follow redirects."),
            Option(
                names: ["--max-redirects"],
                effect: .value("N") { invocation, text in
                    guard let count = Int(text), count >= 0 else { return false }
                    invocation.maximumRedirectCount = count
                    return true
                }, help: "Fail at the redirect after so many. Default: 20."),
            Option(
                names: ["--retry"],
                effect: .value("N") { invocation, text in
                    guard let count = UInt(text), count <= 100 else { return false }
                    invocation.retryCount = count
                    return true
                },
                help: "Try again up to N times after failures that may pass, unless the method could take effect twice."
            ),
            Option(
                names: ["-a", "--auth"],
                effect: .value("USER:PASSWORD") {
                    $0.authentication = $1; return true
                },
                help:
                    "Credentials for the URL's origin alone; a token for bearer. Without \":\" the password is asked for."
            ),
            Option(
                names: ["--auth-type"],
                effect: .value("TYPE") { invocation, text in
                    invocation.authenticationType = Invocation.AuthenticationType(rawValue: text.lowercased())
                    return invocation.authenticationType != nil
                }, help: "How to authenticate: basic (the default), digest, bearer, negotiate or ntlm."),
            Option(
                names: ["--netrc"], effect: .flag { $0.usesNetrc = true },
                help: "Take credentials from ~/.netrc, or from the file that NETRC names."),
            Option(
                names: ["--session"],
                effect: .value("NAME") {
                    $0.sessionName = $1; return !$1.isEmpty
                },
                help:
                    "Keep cookies and credentials between runs, in a file that only you can read; a NAME with \"/\" is its path."
            ),
            Option(
                names: ["--har"],
                effect: .value("FILE") {
                    $0.archiveFile = $1; return true
                },
                help: "Record every exchange in FILE, an HTTP archive, without credentials and cookies."),
            Option(
                names: ["--check-status"], effect: .flag { $0.checksStatus = true },
                help: "Exit with 3, 4 or 5 for a status of 3xx, 4xx or 5xx."),
        ] + tls + [
            Option(
                names: ["-x", "--proxy"],
                effect: .value("URL") {
                    $0.proxy = $1; return true
                },
                help: "Go through a proxy: http://…, https://…, socks5://… or socks5h://…."),
            Option(names: ["--http1.1"], effect: .flag { $0.speaksHTTP1Only = true }, help: "Speak HTTP/1.1 only."),
            Option(
                names: ["--cache"], effect: .flag { $0.usesCache = true },
                help: "Keep responses between runs as RFC 9111 allows, and use them; -v tells who answered."
            ),
            Option(
                names: ["--timing"], effect: .flag { $0.showsTiming = true },
                help: "Draw where the time went, on standard error."),
            Option(
                names: ["--curl"], effect: .flag { $0.printsCURL = true },
                help: "Print a curl command that sends the request, and send nothing."),
            Option(
                names: ["--from-curl"],
                effect: .value("COMMAND") {
                    $0.curlCommand = $1; return true
                },
                help: "Send what this curl command would send, in the place of URL and items."),
            Option(
                names: ["--text"], effect: .flag { $0.sendsBinary = false },
                help: "ws: send lines as text messages (the default)."),
            Option(
                names: ["--binary"], effect: .flag { $0.sendsBinary = true },
                help: "ws: send binary messages: lines at the prompt, whatever comes from a pipe."),
            Option(
                names: ["--subprotocol"],
                effect: .value("NAMES") {
                    $0.subprotocol = $1; return !$1.isEmpty
                }, help: "ws: offer these subprotocols, separated by commas."),
            Option(
                names: ["--ping"],
                effect: .value("SECONDS") { invocation, text in
                    guard let seconds = Double(text), seconds > 0, seconds.isFinite else { return false }
                    invocation.pingInterval = seconds
                    return true
                }, help: "ws: send a ping every so many seconds, and give up when one has no answer."),
            Option(
                names: ["--compress"], effect: .flag { $0.compresses = true }, help: "ws: offer to compress messages."),
            Option(
                names: ["--wait"],
                effect: .value("SECONDS") { invocation, text in
                    guard let seconds = Double(text), seconds >= 0, seconds < 1e6 else { return false }
                    invocation.quietTime = seconds
                    return true
                }, help: "ws: after a pipe's end, close when nothing has come for so long. Default: 0.5."),
            Option(names: ["--watch"], effect: .flag { $0.watches = true }, help: "status: follow the changes."),
            Option(names: ["--help"], effect: .flag { $0.task = .help }, help: "Print this help."),
            Option(names: ["--version"], effect: .flag { $0.task = .version }, help: "Print the version."),
        ]

    /// Who the server is, and who we are.
    private static let tls: [Option] = [
        Option(
            names: ["-k", "--insecure"], effect: .flag { $0.isInsecure = true },
            help: "Do not check the server's certificate. Anyone in between can read and change everything."),
        Option(
            names: ["--verify"],
            effect: .value("yes|no|FILE") { invocation, text in
                switch text {
                case "no": invocation.isInsecure = true
                case "yes": invocation.isInsecure = false
                default: invocation.authorityFile = text
                }
                return !text.isEmpty
            }, help: "no is --insecure, and FILE is --cacert."),
        Option(
            names: ["--cacert"],
            effect: .value("FILE") {
                $0.authorityFile = $1; return true
            },
            help: "Trust the authorities in this PEM file, and no others."),
        Option(
            names: ["--cert"],
            effect: .value("FILE[:PASSPHRASE]") {
                $0.certificateFile = $1; return !$1.isEmpty
            },
            help: "Show this certificate to servers that ask for one."),
        Option(
            names: ["--key"],
            effect: .value("FILE") {
                $0.keyFile = $1; return !$1.isEmpty
            },
            help: "The certificate's private key; the certificate's own file when it is not given."),
        Option(
            names: ["--cert-type"],
            effect: .value("PEM|P12") { invocation, text in
                invocation.certificateType = Invocation.CertificateType(rawValue: text.lowercased())
                return invocation.certificateType != nil
            }, help: "The format of the certificate. Default: P12 for files named .p12 or .pfx, else PEM."),
        Option(
            names: ["--tls-min"],
            effect: .value("1.0|1.1|1.2|1.3") { invocation, text in
                let versions: [String: TLSVersion] = ["1.0": .tls10, "1.1": .tls11, "1.2": .tls12, "1.3": .tls13]
                invocation.minimumTLSVersion = versions[text]
                return invocation.minimumTLSVersion != nil
            }, help: "The oldest version of TLS to accept. Default: 1.2."),
        Option(
            names: ["--pin"],
            effect: .value("sha256//BASE64") { invocation, text in
                guard (try? PublicKeyPin(text)) != nil else { return false }
                invocation.pins.append(text)
                return true
            }, help: "Demand a key with this hash in the server's chain; may be given several times."),
        Option(
            names: ["--show-cert"], effect: .flag { $0.showsCertificates = true },
            help: "Print the server's certificates as a tree, on standard error."),
    ]

    static func named(_ name: String) -> Option? {
        all.first { $0.names.contains(name) }
    }
}
