import Alamofire
import Foundation

/// A manager that also trusts subdomains.
public final class PinningManager: ServerTrustManager, @unchecked Sendable {
    public override func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        if let evaluator = try? super.serverTrustEvaluator(forHost: host) { return evaluator }
        let parent = host.split(separator: ".").dropFirst().joined(separator: ".")
        return evaluators[parent]
    }
}

enum Pinning {
    static func evaluators(_ pins: [SecCertificate], _ keys: [SecKey]) -> [String: any ServerTrustEvaluating] {
        [
            "default.example.com": DefaultTrustEvaluator(validateHost: true),
            "revoked.example.com": RevocationTrustEvaluator(
                performDefaultValidation: true, validateHost: true, options: [.ocsp, .requirePositiveResponse]),
            "pinned.example.com": PinnedCertificatesTrustEvaluator(
                certificates: pins, acceptSelfSignedCertificates: true, performDefaultValidation: true,
                validateHost: true),
            "bundle.example.com": PinnedCertificatesTrustEvaluator(),
            "keys.example.com": PublicKeysTrustEvaluator(
                keys: keys, performDefaultValidation: true, validateHost: true),
            "both.example.com": CompositeTrustEvaluator(evaluators: [.default, .publicKeys(keys: keys)]),
            "test.example.com": DisabledTrustEvaluator(),
        ]
    }

    static let shorthands: [String: any ServerTrustEvaluating] = [
        "a.example.com": .default, "b.example.com": .revocationChecking, "c.example.com": .pinnedCertificates,
        "d.example.com": .publicKeys, "e.example.com": .composite(evaluators: [.default, .publicKeys]),
        "f.example.com": .default(validateHost: false), "g.example.com": .revocationChecking(options: .crl),
        "h.example.com": .pinnedCertificates(acceptSelfSignedCertificates: true),
        "i.example.com": .publicKeys(performDefaultValidation: false, validateHost: false),
    ]

    static func session(_ pins: [SecCertificate]) -> Session {
        let manager = PinningManager(allHostsMustBeEvaluated: false, evaluators: evaluators(pins, pins.af.publicKeys))
        return Session(serverTrustManager: manager)
    }

    static func fromBundle(_ bundle: Bundle = .main) -> Int {
        bundle.af.certificates.count + bundle.af.publicKeys.count + bundle.af.paths(forResourcesOfTypes: [".cer"]).count
    }
}
