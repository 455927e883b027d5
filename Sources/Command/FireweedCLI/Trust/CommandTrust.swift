// The command's trust in servers.

import Fireweed
import Synchronization

/// Makes one trust rule for every host, including the targets of redirects.
enum CommandTrust {
    /// OpenSSL's code for the chain that was evaluated last, for `%{ssl_verify_result}`; 0 for a valid chain.
    static let verifyResult = Mutex(0)

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
        let names = ["ssl_verify_result", "json"]
        let isNoted = names.contains { invocation.writeOut?.contains($0) == true }
        if isNoted { rule = NotingEvaluator(rule: rule) }
        let isNeeded = isNoted || invocation.isInsecure || invocation.showsCertificates || !invocation.pins.isEmpty
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

/// Notes the result of the usual check of a chain, even if it does not count, then evaluates the chain.
private struct NotingEvaluator: ServerTrustEvaluating {
    let rule: any ServerTrustEvaluating

    var cachePartition: String? { rule.cachePartition }

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        let result: Int
        do throws(TrustFailure) {
            try trust.evaluateChain()
            result = 0
        } catch {
            result = error.verificationCode
        }
        CommandTrust.verifyResult.withLock { $0 = result }
        try rule.evaluate(trust, forHost: host)
    }
}

extension TrustFailure {
    /// The most usual one of OpenSSL's codes for this failure (`X509_V_ERR_…`).
    fileprivate var verificationCode: Int {
        switch self {
        case .selfSigned: 18
        case .untrustedRoot: 19
        case .unknownIssuer: 20
        case .expired: 10
        case .notYetValid: 9
        case .hostMismatch: 62
        case .weakKey: 66
        case .weakSignature: 68
        case .invalidSignature: 7
        case .unsuitablePurpose: 26
        case .invalidAuthority: 79
        case .forbiddenName: 47
        case .revoked: 23
        case .unknownRevocation: 3
        case .noCertificate, .authoritiesUnreadable, .malformed: 1
        case .internalFailure(let code, _): code
        }
    }
}
