// Options that `--curl` adds to the library's curl command.

import Fireweed
import Foundation

/// curl's options for the settings of the exchange in an invocation; the library writes the options for the message.
struct CURLOptions {
    private let invocation: Invocation
    private let plan: RequestPlan

    init(_ invocation: Invocation, plan: RequestPlan) {
        self.invocation = invocation
        self.plan = plan
    }

    /// Returns the command with these options added after its `-v`.
    func adding(to command: String) -> String {
        let command = withoutMethod(command)
        let lines = options.map { option in option.map(Self.quoted).joined(separator: " ") }
        guard !lines.isEmpty, let range = command.firstRange(of: "curl -v") else { return command }
        let added = lines.map { " \\\n\t\($0)" }.joined()
        return command[..<range.upperBound] + added + command[range.upperBound...]
    }

    /// Returns the command without `-X POST` if redirects are followed.
    ///
    /// Content makes curl send a POST anyway. With `-X`, curl repeats the method even after a 303, where a GET is due
    /// (RFC 9110 §15.4.4).
    private func withoutMethod(_ command: String) -> String {
        guard invocation.followsRedirects, plan.method == .post else { return command }
        return command.replacing(" \\\n\t-X POST", with: "", maxReplacements: 1)
    }

    /// A warning about what curl does differently with the command; `nil` without a difference.
    var warning: String? {
        let isOfFile =
            switch plan.content {
            case .none, .data: false
            case .file, .input, .stream, .multipart: true
            }
        if invocation.compresses, isOfFile {
            return "curl does not compress: the command lacks the content, and has to be given it in compressed form"
        }
        guard invocation.followsRedirects, repeatsMethod else { return nil }
        return "after a 303, curl repeats \(plan.method.rawValue), where fireweed sends GET"
    }

    /// Whether the method stays the same after a 301 or 302, as with curl's `-X`.
    private var repeatsMethod: Bool { ![.get, .head, .post].contains(plan.method) }

    private var sendsContent: Bool {
        if case .none = plan.content { return false }
        return true
    }

    private var options: [[String]] {
        var options: [[String]] = []
        if invocation.followsRedirects {
            options.append([invocation.curl?.trustsRedirects == true ? "--location-trusted" : "-L"])
            options.append(["--max-redirs", "\(invocation.maximumRedirectCount ?? 20)"])
            // With `-X`, curl keeps the method after a 301 or 302, but not the content.
            if repeatsMethod, sendsContent { options += [["--post301"], ["--post302"]] }
            // Without `-b`, curl does not send cookies that a redirect has set.
            if invocation.curl?.keepsCookies != false { options.append(["-b", ""]) }
        }
        if let seconds = invocation.maximumTime { options.append(["-m", "\(seconds)"]) }
        // curl has no idle time-out; ending at a speed below one byte a second for that time has the same effect.
        if let seconds = invocation.timeout {
            options.append(["--speed-limit", "1", "--speed-time", "\(Int(seconds.rounded(.up)))"])
        }
        if let seconds = invocation.connectTimeout { options.append(["--connect-timeout", "\(seconds)"]) }
        if invocation.sendsChunks { options.append(["-H", "Transfer-Encoding: chunked"]) }
        options += removedFields + connection + trust
        return options
    }

    private var removedFields: [[String]] { plan.removedHeaders.map { ["-H", "\($0):"] } }

    private var connection: [[String]] {
        var options: [[String]] = []
        if let proxy = invocation.proxy { options.append(["-x", proxy]) }
        if let proxy = invocation.schemeProxies[plan.url.scheme?.lowercased() ?? ""] { options.append(["-x", proxy]) }
        if invocation.alwaysTunnels { options.append(["-p"]) }
        switch invocation.proxyAuthentication {
        case .digest?: options.append(["--proxy-digest"])
        case .ntlm?: options.append(["--proxy-ntlm"])
        case .password?: options.append(["--proxy-anyauth"])
        default: break
        }
        if !invocation.bypassedHosts.isEmpty {
            options.append(["--noproxy", invocation.bypassedHosts.joined(separator: ",")])
        }
        if let path = invocation.unixSocket { options.append(["--unix-socket", path]) }
        for rule in invocation.addresses {
            let port = rule.port ?? plan.url.effectivePort
            options.append(["--resolve", "\(rule.host):\(port):\(rule.addresses.joined(separator: ","))"])
        }
        for route in invocation.routes { options.append(["--connect-to", route.text]) }
        switch invocation.ipVersion {
        case .any: break
        case .v4: options.append(["-4"])
        case .v6: options.append(["-6"])
        }
        if let name = invocation.networkInterface { options.append(["--interface", name]) }
        if let rate = invocation.rateLimit { options.append(["--limit-rate", "\(rate)"]) }
        if let schemes = invocation.allowedSchemes {
            options.append(["--proto", "=" + schemes.sorted().joined(separator: ",")])
        }
        switch invocation.httpVersion {
        case .automatic: break
        case .http1Only: options.append(["--http1.1"])
        case .http2: options.append(["--http2-prior-knowledge"])
        }
        return options
    }

    private var trust: [[String]] {
        var options: [[String]] = []
        if invocation.isInsecure { options.append(["-k"]) }
        if let file = invocation.authorityFile { options.append(["--cacert", file]) }
        if let file = invocation.certificateFile { options.append(["--cert", file]) }
        if let file = invocation.keyFile { options.append(["--key", file]) }
        if let passphrase = invocation.keyPassphrase { options.append(["--pass", passphrase]) }
        if let type = invocation.certificateType { options.append(["--cert-type", type.rawValue.uppercased()]) }
        if let version = invocation.minimumTLSVersion { options.append([Self.minimum(version)]) }
        if let version = invocation.maximumTLSVersion { options.append(["--tls-max", Self.text(version)]) }
        let ciphers = (invocation.ciphers ?? "").split(separator: ":").map(String.init)
        let (suites, others) = (ciphers.filter { $0.hasPrefix("TLS_") }, ciphers.filter { !$0.hasPrefix("TLS_") })
        if !others.isEmpty { options.append(["--ciphers", others.joined(separator: ":")]) }
        if !suites.isEmpty { options.append(["--tls13-ciphers", suites.joined(separator: ":")]) }
        if !invocation.pins.isEmpty { options.append(["--pinnedpubkey", invocation.pins.joined(separator: ";")]) }
        return options
    }

    private static func text(_ version: TLSVersion) -> String { "1.\(version.rawValue)" }

    private static func minimum(_ version: TLSVersion) -> String { "--tlsv\(text(version))" }

    /// Returns a word, quoted for a POSIX shell if necessary.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.unicodeScalars.allSatisfy {
            $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0))
                || "-_./:=,@%+".unicodeScalars.contains($0)
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
