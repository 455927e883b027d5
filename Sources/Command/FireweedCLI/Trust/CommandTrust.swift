// The command's trust in servers.

import Fireweed

/// Makes one trust rule for every host, including the targets of redirects.
enum CommandTrust {
    /// Returns the trust manager for an invocation; `nil` for the default check against the authorities.
    ///
    /// Throws the error of `PublicKeyPin` for an invalid pin.
    static func manager(for invocation: Invocation) throws -> ServerTrustManager? {
        var rule: any ServerTrustEvaluating = invocation.isInsecure ? DisabledTrustEvaluator() : DefaultTrustEvaluator()
        if !invocation.pins.isEmpty {
            rule = PublicKeysTrustEvaluator(
                pins: try invocation.pins.map { try PublicKeyPin($0) },
                performDefaultValidation: !invocation.isInsecure, validateHost: !invocation.isInsecure)
        }
        if invocation.showsCertificates { rule = ShowingEvaluator(rule: rule) }
        let isNeeded = invocation.isInsecure || invocation.showsCertificates || !invocation.pins.isEmpty
        return isNeeded ? ServerTrustManager(everyHost: rule) : nil
    }
}

/// Prints a server's chain, then evaluates it.
private struct ShowingEvaluator: ServerTrustEvaluating {
    let rule: any ServerTrustEvaluating

    var cachePartition: String? { rule.cachePartition }

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        Terminal.tell("\(CertificateTree.text(of: trust))")
        try rule.evaluate(trust, forHost: host)
    }
}
