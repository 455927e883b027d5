// A readable chain of certificates; pure.

import Fireweed
import Foundation

/// Draws a server's chain, the authority at the top and the server's own certificate at the bottom.
enum CertificateTree {
    /// Returns the text of the chain, and whether it is trusted for the host.
    static func text(of trust: ServerTrust, now: Date = Date()) -> String {
        let verdict: String
        do {
            try trust.evaluateChain()
            try trust.evaluateHost(trust.host)
            verdict = "trusted"
        } catch {
            verdict = "not trusted: \(error)"
        }
        var lines = ["\(trust.host): \(verdict)"]
        for (depth, certificate) in trust.certificates.reversed().enumerated() {
            let indent = String(repeating: " ", count: max(0, 3 * (depth - 1)))
            lines.append(
                indent + (depth == 0 ? "" : "└─ ") + (certificate.subject.isEmpty ? "(no name)" : certificate.subject))
            let inner = String(repeating: " ", count: 3 * depth + 2)
            let isLast = depth == trust.certificates.count - 1
            lines += facts(of: certificate, isTop: depth == 0, isServer: isLast, now: now).map { inner + $0 }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func facts(of certificate: Certificate, isTop: Bool, isServer: Bool, now: Date) -> [String] {
        var facts: [String] = []
        if isTop, !certificate.isSelfIssued { facts.append("issuer   \(certificate.issuer)") }
        if isServer {
            let names = certificate.subjectAltNames
            facts.append("names    \(names.isEmpty ? "none" : names)")
        }
        facts.append(
            "valid    \(day(certificate.notBefore)) to \(day(certificate.notAfter)), \(rest(of: certificate, now))")
        if let key = try? certificate.publicKey {
            facts.append("key      \(key.algorithm), \(key.bitCount) bits, \(key.pin)")
        }
        facts.append("signed   \(certificate.signatureAlgorithm), number \(certificate.serialNumber)")
        facts.append("SHA-256  \(certificate.sha256Fingerprint)")
        return facts
    }

    private static func day(_ date: Date) -> String {
        String(date.formatted(.iso8601).prefix(10))
    }

    private static func rest(of certificate: Certificate, _ now: Date) -> String {
        if now < certificate.notBefore { return "not valid yet" }
        let days = Int(certificate.notAfter.timeIntervalSince(now) / 86_400)
        return certificate.notAfter < now ? "expired" : "\(days) days left"
    }
}

extension Certificate {
    /// The subject alternative names on one line.
    fileprivate var subjectAltNames: String {
        subjectAlternativeNames.map(\.description).joined(separator: ", ")
    }
}
