// The table of curl's options that are supported; all others are refused by name.

import CommandLanguage
import Fireweed
import Foundation
import Glibc

extension CURLRow {
    static let all: [CURLRow] =
        requestRows + contentRows + fieldRows + credentialRows + cookieRows + fileRows + outputRows + exchangeRows
        + connectionRows + trustRows + ignoredRows

    private static let requestRows: [CURLRow] = [
        .text("url") { $0.urls.append($1) },
        .text("request", "X") { $0.method = $1 },
        .flag("get", "G") { $1.sendsDataInQuery = $2 },
        .flag("head", "I") {
            ($1.isHead, $1.includesHeads) = ($2, $2)
            if $2 { ($0.print, $0.showsAll) = ($1.isVerbose ? "Hh" : "h", true) }
        },
        .value("url-query") { $1.query.append($2.value) },
        .flag("globoff", "g") { $1.takesURLsLiterally = $2 },
        .flag("path-as-is") { $1.keepsPath = $2 },
        .text("range", "r") { $0.range = $1 },
        .value("time-cond", "z") { $1.timeCondition = try $2.text },
        .value("max-filesize") { invocation, _, use in
            guard let count = Option.byteCount(try use.text) else { throw use.wrongValue() }
            invocation.maximumContentLength = count
        },
        .text("etag-compare") { $0.comparedTagFile = $1 },
        .text("etag-save") { $0.savedTagFile = $1 },
    ]

    private static let contentRows: [CURLRow] = [
        .value("data", "d") { try $1.content.add(.text, $2) },
        .value("data-ascii") { try $1.content.add(.text, $2) },
        .value("data-raw") { try $1.content.add(.raw, $2) },
        .value("data-binary") { try $1.content.add(.binary, $2) },
        .value("data-urlencode") { try $1.content.add(.escaped, $2) },
        .value("json") { try $1.content.add(.json, $2) },
        .value("form", "F") { try $1.content.add(.field, $2) },
        .value("form-string") { try $1.content.add(.literalField, $2) },
        .flag("form-escape") { $1.content.escapesByBackslash = $2 },
        .value("upload-file", "T") { try $1.content.addUpload($2) },
    ]

    private static let fieldRows: [CURLRow] = [
        .value("header", "H") { _, transfer, use in
            let text = try use.text
            guard text.hasPrefix("@") else { return transfer.fieldLines.append(text) }
            let file = try LocalFile.text(String(text.dropFirst()))
            transfer.fieldLines += file.split(whereSeparator: \.isNewline).map(String.init)
        },
        .text("user-agent", "A") { $0.userAgent = $1 },
        .text("referer", "e") { $0.setReferer($1) },
    ]

    private static let credentialRows: [CURLRow] = [
        .value("user", "u") { $0.authentication = try $2.text },
        .text("oauth2-bearer") { $0.bearerToken = $1 },
        .flag("basic") { $0.authenticationType = $2 ? .basic : $0.authenticationType },
        .flag("digest") { $0.authenticationType = $2 ? .digest : nil },
        .flag("ntlm") { $0.authenticationType = $2 ? .ntlm : nil },
        .flag("negotiate") { $0.authenticationType = $2 ? .negotiate : nil },
        .flag("anyauth") { $1.waitsForChallenge = $2 },
        .flag("netrc", "n") { $1.netrc = $2 ? CURLNetrc(file: $1.netrc?.file) : nil },
        .flag("netrc-optional") { $1.netrc = $2 ? CURLNetrc(file: $1.netrc?.file, isOptional: true) : nil },
        .text("netrc-file") { $0.netrc = CURLNetrc(file: $1, isOptional: $0.netrc?.isOptional ?? false) },
    ]

    private static let cookieRows: [CURLRow] = [
        .text("cookie", "b") { transfer, text in
            // Without "=" or after "@" the value names a cookie file. Even an empty name makes curl keep the cookies of
            // responses.
            if text.hasPrefix("@") {
                transfer.cookieFiles.append(String(text.dropFirst()))
            } else if text.contains("=") {
                transfer.cookies.append(text)
            } else {
                transfer.cookieFiles.append(text)
            }
        },
        .text("cookie-jar", "c") { $0.cookieJar = $1 },
        .flag("junk-session-cookies", "j") { $1.dropsSessionCookies = $2 },
    ]

    private static let fileRows: [CURLRow] = [
        .text("output", "o") { $0.outputs.append(.file($1)) },
        .flag("remote-name", "O") { if $2 { $1.outputs.append(.remoteName) } },
        .flag("remote-name-all") { $1.namesAllByURL = $2 },
        .flag("remote-header-name", "J") { $1.takesNameOfResponse = $2 },
        .text("output-dir") { $0.outputFolder = $1 },
        .flag("create-dirs") { $1.createsFolders = $2 },
        .flag("clobber") { $1.replacesFiles = $2 },
        .flag("remote-time", "R") { $0.keepsRemoteTime = $2 },
        .value("continue-at", "C") { _, transfer, use in
            let text = try use.text
            guard text == "-" || Int64(text).map({ $0 >= 0 }) == true else { throw use.wrongValue() }
            transfer.offset = text
        },
        .text("dump-header", "D") { $0.headFile = $1 },
    ]

    private static let outputRows: [CURLRow] = [
        .flag("compressed") { $1.asksForCodings = $2 },
        .flag("include", "i") { invocation, transfer, isOn in
            transfer.includesHeads = isOn || transfer.isHead
            invocation.print = transfer.isVerbose ? "Hhb" : isOn ? "hb" : transfer.isHead ? "h" : nil
            invocation.showsAll = isOn || transfer.isVerbose
        },
        // The request's head goes to standard error, and without `-i` the responses' heads too
        // (`HeadPrinter.errorParts`).
        .flag("verbose", "v") { invocation, transfer, isOn in
            invocation.print = isOn ? "Hhb" : transfer.includesHeads ? "hb" : nil
            invocation.showsAll = isOn || transfer.includesHeads
            (invocation.isVerbose, transfer.isVerbose) = (isOn, isOn)
        },
        .flag("fail", "f") {
            $0.checksStatus = $2
            $1.hidesFailures = $2
        },
        .flag("progress-meter") { $1.showsMeter = $2 },
        .flag("silent", "s") { $1.isSilent = $2 }, .flag("show-error", "S") { $1.showsErrors = $2 },
        .flag("suppress-connect-headers") { $1.hidesTunnelHeads = $2 },
        .flag("fail-with-body") { $0.failsWithContent = $2 },
        .value("write-out", "w") { invocation, _, use in
            let text = try use.text
            guard text.hasPrefix("@") else {
                invocation.writeOut = text
                return
            }
            // As in curl, line breaks in the file are dropped.
            invocation.writeOut = try LocalFile.text(String(text.dropFirst())).filter { !$0.isNewline }
        },
    ]

    private static let exchangeRows: [CURLRow] = [
        .flag("location", "L") { $0.followsRedirects = $2 },
        .flag("location-trusted") {
            $0.followsRedirects = $2
            $1.trustsRedirects = $2
        },
        .flag("post301") { $1.keepPOST(after: 301, $2) }, .flag("post302") { $1.keepPOST(after: 302, $2) },
        .flag("post303") { $1.keepPOST(after: 303, $2) },
        // For curl, a negative number means no limit. Here it becomes 10,000, the most that `--max-redirects` accepts.
        .own("max-redirs", nil, "--max-redirects") { Int($0).map { $0 < 0 ? "10000" : "\(min($0, 10_000))" } ?? $0 },
        .own("max-time", "m", "--max-time"), .own("connect-timeout", nil, "--connect-timeout"),
        .value("retry") { invocation, _, use in
            guard let count = Int(try use.text), count >= 0 else { throw use.wrongValue() }
            (invocation.retryCount, invocation.retriesAsCURL) = (UInt(min(count, 100)), true)
        },
        // For curl, 0 means increasing delays (`--retry-delay`) or no time limit (`--retry-max-time`). Both are the
        // defaults here, so 0 is left out.
        .own("retry-delay", nil, "--retry-delay") { Double($0) == 0 ? nil : $0 },
        .own("retry-max-time", nil, "--retry-max-time") { Double($0) == 0 ? nil : $0 },
        .flag("parallel", "Z") { $0.parallelCount = $2 ? max(50, $0.parallelCount) : 1 },
        .own("parallel-max", nil, "--parallel"),
        .own("proto", nil, "--proto"), .own("limit-rate", nil, "--limit-rate"),
        // Without ALPN no server chooses HTTP/2.
        .flag("alpn") { invocation, _, isOn in if !isOn { invocation.httpVersion = .http1Only } },
        .flag("http1.1") { $0.httpVersion = $2 ? .http1Only : .automatic },
        .flag("http2") { invocation, _, _ in invocation.httpVersion = .automatic },
        .flag("http2-prior-knowledge") { invocation, _, _ in invocation.httpVersion = .http2 },
    ]

    private static let connectionRows: [CURLRow] = [
        .text("proxy", "x") { $0.proxy = CURLProxy.url($1, scheme: "http") },
        .text("socks4") { $0.proxy = CURLProxy.url($1, scheme: "socks4") },
        .text("socks4a") { $0.proxy = CURLProxy.url($1, scheme: "socks4a") },
        .text("socks5") { $0.proxy = CURLProxy.url($1, scheme: "socks5") },
        .text("socks5-hostname") { $0.proxy = CURLProxy.url($1, scheme: "socks5h") },
        .text("proxy-user", "U") { $0.proxyUser = $1 },
        .value("speed-limit", "Y") { $1.lowestSpeed = try $2.number },
        .value("speed-time", "y") { $1.lowSpeedSeconds = try $2.number },
        .flag("proxytunnel", "p") { $0.alwaysTunnels = $2 },
        .flag("proxy-basic") { $0.proxyAuthentication = $2 ? .basic : nil },
        .flag("proxy-digest") { $0.proxyAuthentication = $2 ? .digest : nil },
        .flag("proxy-ntlm") { $0.proxyAuthentication = $2 ? .ntlm : nil },
        .flag("proxy-anyauth") { $0.proxyAuthentication = $2 ? .password : nil },
        .value("noproxy") { invocation, _, use in
            let hosts = try use.text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            invocation.bypassedHosts = hosts
            // An empty list means no exceptions, not even those of the environment.
            invocation.bypassesNothing = hosts.isEmpty
        },
        .own("unix-socket", nil, "--unix-socket"),
        .own("resolve", nil, "--resolve") { $0.hasPrefix("-") ? nil : $0.hasPrefix("+") ? String($0.dropFirst()) : $0 },
        .own("connect-to", nil, "--connect-to"), .own("interface", nil, "--interface"),
        .flag("ipv4", "4") { invocation, _, _ in invocation.ipVersion = .v4 },
        .flag("ipv6", "6") { invocation, _, _ in invocation.ipVersion = .v6 },
    ]

    private static let addCiphers: CURLRow.Effect = { invocation, _, use in
        invocation.ciphers = try invocation.ciphers.map { "\($0):\(try use.text)" } ?? use.text
    }

    private static let trustRows: [CURLRow] = [
        .flag("insecure", "k") {
            $0.isInsecure = $2
            $1.isInsecure = $2
        },
        .own("cacert", nil, "--cacert"), .own("cert", "E", "--cert"), .own("key", nil, "--key"),
        .own("pass", nil, "--cert-key-pass"), .own("cert-type", nil, "--cert-type"),
        .own("tls-max", nil, "--tls-max"), .value("ciphers", nil, addCiphers), .value("tls13-ciphers", nil, addCiphers),
        .value("pinnedpubkey") { invocation, _, use in
            let pins = try use.text.split(separator: ";").map(String.init)
            guard !pins.isEmpty, pins.allSatisfy({ (try? PublicKeyPin($0)) != nil }) else {
                throw UsageError(message: "\(use.written) of the curl command needs hashes as sha256//BASE64")
            }
            invocation.pins = pins
        },
        .flag("tlsv1", "1") { invocation, _, _ in invocation.minimumTLSVersion = .tls10 },
        .flag("tlsv1.0") { invocation, _, _ in invocation.minimumTLSVersion = .tls10 },
        .flag("tlsv1.1") { invocation, _, _ in invocation.minimumTLSVersion = .tls11 },
        .flag("tlsv1.2") { invocation, _, _ in invocation.minimumTLSVersion = .tls12 },
        .flag("tlsv1.3") { invocation, _, _ in invocation.minimumTLSVersion = .tls13 },
    ]

    /// Options without effect here: output that is never shown, and details of connections that change no message.
    private static let ignoredRows: [CURLRow] =
        ignored([
            ("buffer", "N"), ("progress-bar", "#"),
            ("styled-output", nil), ("trace-time", nil), ("disable", "q"), ("keepalive", nil),
            ("tcp-nodelay", nil), ("npn", nil), ("sessionid", nil), ("parallel-immediate", nil),
            ("http0.9", nil), ("false-start", nil), ("tcp-fastopen", nil), ("use-ascii", "B"),
            // For other protocols and other TLS libraries.
            ("ssl", nil), ("ssl-reqd", nil), ("ssl-no-revoke", nil), ("ssl-revoke-best-effort", nil),
            ("ssl-allow-beast", nil), ("ssl-auto-client-cert", nil),
            // Always on here: an incomplete download leaves no file, and `--retry` includes refused connections.
            ("remove-on-error", nil), ("retry-connrefused", nil),
        ])
        + ignoredValues([
            "keepalive-time", "keepalive-cnt", "happy-eyeballs-timeout-ms", "expect100-timeout", "trace-config",
        ])
}
