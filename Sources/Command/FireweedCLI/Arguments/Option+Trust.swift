// Options about the server's and the client's certificate, and about TLS.

import Fireweed

extension Option {
    private static let versions: [(String, TLSVersion)] = [
        ("1.0", .tls10), ("1.1", .tls11), ("1.2", .tls12), ("1.3", .tls13),
    ]

    static let trustOptions: [Option] = [
        Option(
            names: ["-k", "--insecure"], group: .trust, effect: .flag { $0.isInsecure = true },
            example: "fireweed --insecure https://localhost:8443/",
            help: "Do not check the server's certificate. Anyone in between can read and change everything.",
            scope: .handshake),
        Option(
            names: ["--verify"], group: .trust,
            effect: .value("yes|no|FILE", expected: "yes, no or a file") { invocation, text in
                switch text {
                case "no", "false": invocation.isInsecure = true
                case "yes", "true": invocation.isInsecure = false
                default: invocation.authorityFile = text
                }
                return !text.isEmpty
            }, example: "fireweed --verify authority.pem https://localhost:8443/",
            help: "no is --insecure, and FILE is --cacert.", scope: .handshake),
        Option(
            names: ["--cacert"], group: .trust, effect: .word("FILE") { $0.authorityFile = $1 },
            example: "fireweed --cacert authority.pem https://localhost:8443/",
            help: "Trust the authorities in this PEM file, and no others.", scope: .handshake),
        Option(
            names: ["--cert"], group: .trust, effect: .word("FILE[:PASSPHRASE]") { $0.certificateFile = $1 },
            example: "fireweed --cert me.pem --key me.key https://api.example/",
            help: "Show this certificate to servers that ask for one; with serve, to every client.",
            scope: [.handshake, .serve]),
        Option(
            names: ["--key", "--cert-key"], group: .trust, effect: .word("FILE") { $0.keyFile = $1 },
            example: "fireweed --key me.key --cert me.pem https://api.example/",
            help: "The certificate's private key; the certificate's own file when it is not given.",
            scope: [.handshake, .serve]),
        Option(
            names: ["--cert-key-pass"], group: .trust, effect: .text("PASSPHRASE") { $0.keyPassphrase = $1 },
            example: "fireweed --cert me.p12 --cert-key-pass secret https://api.example/",
            help: "The private key's passphrase.", scope: [.handshake, .serve]),
        Option(
            names: ["--cert-type"], group: .trust,
            effect: .choice("PEM|P12", [("pem", Invocation.CertificateType.pem), ("p12", .p12)]) {
                $0.certificateType = $1
            }, example: "fireweed --cert me.bin --cert-type p12 https://api.example/",
            help: "The format of the certificate. Default: P12 for files named .p12 or .pfx, else PEM.",
            scope: .handshake),
        Option(
            names: ["--tls-min"], group: .trust, effect: .choice("VERSION", versions) { $0.minimumTLSVersion = $1 },
            example: "fireweed --tls-min 1.3 api.example",
            help: "The oldest version of TLS to accept: 1.0, 1.1, 1.2 or 1.3. Default: 1.2.", scope: .handshake),
        Option(
            names: ["--tls-max"], group: .trust, effect: .choice("VERSION", versions) { $0.maximumTLSVersion = $1 },
            example: "fireweed --tls-max 1.2 api.example",
            help: "The newest version of TLS to offer.", scope: .handshake),
        Option(
            names: ["--ssl"], group: .trust,
            effect: .choice("VERSION", versions.map { ("tls\($0.0)", $0.1) }) {
                $0.minimumTLSVersion = $1
                $0.maximumTLSVersion = $1
            }, example: "fireweed --ssl tls1.2 api.example",
            help: "Speak this version of TLS alone: tls1.0, tls1.1, tls1.2 or tls1.3.", scope: .handshake),
        Option(
            names: ["--ciphers"], group: .trust, effect: .word("LIST") { $0.ciphers = $1 },
            example: "fireweed --ciphers ECDHE-RSA-AES128-GCM-SHA256 --tls-max 1.2 api.example",
            help: "Offer these ciphers up to TLS 1.2, in OpenSSL's notation; names that begin with TLS_ are for "
                + "TLS 1.3.", scope: .handshake),
        Option(
            names: ["--pin"], group: .trust,
            effect: .value("sha256//BASE64", expected: "sha256// and 44 characters of Base64") { invocation, text in
                guard (try? PublicKeyPin(text)) != nil else { return false }
                invocation.pins.append(text)
                return true
            }, example: "fireweed --pin sha256//YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg= api.example",
            help: "Demand a key with this hash in the server's chain; may be given several times.", scope: .exchange
        ),
        Option(
            names: ["--show-cert"], group: .trust, effect: .flag { $0.showsCertificates = true },
            example: "fireweed --show-cert https://example.org/",
            help: "Print the server's certificates as a tree, on standard error.", scope: .single),
    ]
}
