// The options of a curl command that do not concern its request.

import CommandLanguage
import Fireweed
import Foundation

/// Reads a curl command's options about the exchange into an invocation.
enum CURLInvocation {
    /// Applies them; throws `UsageError` for a command that is not understood and a value that cannot be used.
    static func apply(_ command: String, to invocation: inout Invocation) throws {
        let options: [(name: String, value: String)]
        do {
            options = try CURLExchangeOptions.read(command)
        } catch let error as CURLParsingError {
            throw UsageError(message: error.localizedDescription)
        }
        // curl follows redirects when it is asked to.
        invocation.followsRedirects = false
        for (name, value) in options {
            guard let own = valued[name] else {
                switches[name]?(&invocation)
                continue
            }
            // curl takes a retry without a pause for a number of seconds.
            if name == "retry-delay" || name == "retry-max-time", Double(value) == 0 { continue }
            for use in try OptionReader.read(["\(own)=\(value)"]).options {
                do {
                    try use.apply(to: &invocation)
                } catch {
                    throw UsageError(message: "\"\(value)\" is not a value for --\(name) of the curl command")
                }
            }
            // What curl saves, it saves whatever the status is.
            if name == "output" { invocation.savesAnyStatus = !invocation.writesToStandardOutput }
        }
        if let user = options.last(where: { $0.name == "proxy-user" })?.value, let proxy = invocation.proxy {
            invocation.proxy = withUser(user, proxy)
        }
    }

    /// The URL of a proxy with the user and password of `--proxy-user`, which win over those of the URL.
    private static func withUser(_ user: String, _ proxy: String) -> String {
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }
        let start = proxy.firstRange(of: "://")?.upperBound ?? proxy.startIndex
        let rest = proxy[start...].lastIndex(of: "@").map { proxy[proxy.index(after: $0)...] } ?? proxy[start...]
        return "\(proxy[..<start])\(parts.joined(separator: ":"))@\(rest)"
    }

    /// Options with a value that mean the same here, under our names.
    private static let valued = [
        "connect-timeout": "--connect-timeout", "max-redirs": "--max-redirects", "retry": "--retry",
        "retry-delay": "--retry-delay", "retry-max-time": "--retry-max-time", "proxy": "--proxy",
        "noproxy": "--noproxy", "cacert": "--cacert", "cert": "--cert", "key": "--key", "pass": "--cert-key-pass",
        "cert-type": "--cert-type", "tls-max": "--tls-max", "ciphers": "--ciphers", "unix-socket": "--unix-socket",
        "resolve": "--resolve", "connect-to": "--connect-to", "interface": "--interface",
        "limit-rate": "--limit-rate", "proto": "--proto", "output": "--output", "write-out": "--write-out",
    ]

    /// Options without a value, and what they are here; the others change nothing that is seen.
    private static let switches: [String: @Sendable (inout Invocation) -> Void] = [
        "location": { $0.followsRedirects = true }, "insecure": { $0.isInsecure = true },
        "http1.1": { $0.httpVersion = .http1Only }, "http2-prior-knowledge": { $0.httpVersion = .http2 },
        "include": { $0.print = "hb" }, "head": { $0.print = "h" },
        "verbose": {
            $0.print = "HBhb"
            $0.isVerbose = true
        }, "fail": { $0.checksStatus = true }, "fail-with-body": { $0.failsWithContent = true },
        "ipv4": { $0.ipVersion = .v4 }, "ipv6": { $0.ipVersion = .v6 },
        "remote-name": {
            $0.isDownload = true
            $0.savesAnyStatus = true
        }, "tlsv1.2": { $0.minimumTLSVersion = .tls12 }, "tlsv1.3": { $0.minimumTLSVersion = .tls13 },
    ]
}
