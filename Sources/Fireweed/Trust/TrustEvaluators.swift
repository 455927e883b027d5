// The evaluators that come with the library.

public import FireweedTransport

/// Leaves it to the authorities, and checks that the certificate is for the host.
public final class DefaultTrustEvaluator: ServerTrustEvaluating {
    private let validateHost: Bool

    /// Makes an evaluator; `validateHost` says whether the name is checked.
    public init(validateHost: Bool = true) {
        self.validateHost = validateHost
    }

    /// Throws `.defaultEvaluationFailed` or `.hostValidationFailed`.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        try trust.check(performDefaultValidation: true, validateHost: validateHost, host: host)
    }
}

/// Accepts chains in which one of the given certificates stands.
public final class PinnedCertificatesTrustEvaluator: ServerTrustEvaluating {
    private let certificates: [Certificate]
    private let acceptSelfSignedCertificates: Bool
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Makes an evaluator.
    ///
    /// - Parameters:
    ///   - certificates: the pins; without any, every evaluation fails.
    ///   - acceptSelfSignedCertificates: take the pins as authorities, in the place of the session's.
    ///   - performDefaultValidation: check the chain up to an authority.
    ///   - validateHost: check that the certificate is for the host.
    public init(
        certificates: [Certificate], acceptSelfSignedCertificates: Bool = false, performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) {
        self.certificates = certificates
        self.acceptSelfSignedCertificates = acceptSelfSignedCertificates
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Throws the reason when the chain is not accepted.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !certificates.isEmpty else { throw AFError.serverTrustEvaluationFailed(reason: .noCertificatesFound) }
        try trust.check(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost, host: host,
            anchors: acceptSelfSignedCertificates ? certificates : nil)
        guard Set(trust.certificates).isDisjoint(with: certificates) else { return }
        throw AFError.serverTrustEvaluationFailed(
            reason: .certificatePinningFailed(host: host, trust: trust, pinnedCertificates: certificates))
    }
}

/// Accepts chains in which one of the given keys stands.
public final class PublicKeysTrustEvaluator: ServerTrustEvaluating {
    private let keys: [PublicKey]
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Makes an evaluator; without keys, every evaluation fails.
    public init(keys: [PublicKey], performDefaultValidation: Bool = true, validateHost: Bool = true) {
        self.keys = keys
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Throws the reason when the chain is not accepted.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !keys.isEmpty else { throw AFError.serverTrustEvaluationFailed(reason: .noPublicKeysFound) }
        try trust.check(performDefaultValidation: performDefaultValidation, validateHost: validateHost, host: host)
        let found = trust.certificates.compactMap { try? $0.publicKey }
        guard Set(found).isDisjoint(with: keys) else { return }
        throw AFError.serverTrustEvaluationFailed(
            reason: .publicKeyPinningFailed(host: host, trust: trust, pinnedKeys: keys))
    }
}

/// Accepts what all of several evaluators accept.
public final class CompositeTrustEvaluator: ServerTrustEvaluating {
    private let evaluators: [any ServerTrustEvaluating]

    /// Makes an evaluator of others, which are asked in their order.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
    }

    /// Throws what the first evaluator throws that does not accept the chain.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        for evaluator in evaluators { try evaluator.evaluate(trust, forHost: host) }
    }
}

/// Accepts everyone.
///
/// For tests only: whoever is between us and the server can read and change everything.
public final class DisabledTrustEvaluator: ServerTrustEvaluating {
    /// Makes an evaluator.
    public init() {}

    /// Accepts.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
}

extension ServerTrust {
    /// The two checks that most evaluators begin with.
    fileprivate func check(
        performDefaultValidation: Bool, validateHost: Bool, host: String, anchors: [Certificate]? = nil
    ) throws {
        if performDefaultValidation {
            do {
                try evaluateChain(anchors: anchors)
            } catch {
                throw AFError.serverTrustEvaluationFailed(reason: .defaultEvaluationFailed(trust: self, error: error))
            }
        }
        if validateHost {
            do {
                try evaluateHost(host)
            } catch {
                throw AFError.serverTrustEvaluationFailed(reason: .hostValidationFailed(trust: self, host: host))
            }
        }
    }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    /// Leaves it to the authorities.
    public static var `default`: DefaultTrustEvaluator { DefaultTrustEvaluator() }

    /// Leaves it to the authorities.
    public static func `default`(validateHost: Bool) -> DefaultTrustEvaluator {
        DefaultTrustEvaluator(validateHost: validateHost)
    }
}

extension ServerTrustEvaluating where Self == PinnedCertificatesTrustEvaluator {
    /// Accepts chains in which one of the given certificates stands.
    public static func pinnedCertificates(
        certificates: [Certificate], acceptSelfSignedCertificates: Bool = false, performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) -> PinnedCertificatesTrustEvaluator {
        PinnedCertificatesTrustEvaluator(
            certificates: certificates, acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}

extension ServerTrustEvaluating where Self == PublicKeysTrustEvaluator {
    /// Accepts chains in which one of the given keys stands.
    public static func publicKeys(
        keys: [PublicKey], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PublicKeysTrustEvaluator {
        PublicKeysTrustEvaluator(
            keys: keys, performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
    /// Accepts what all of several evaluators accept.
    public static func composite(evaluators: [any ServerTrustEvaluating]) -> CompositeTrustEvaluator {
        CompositeTrustEvaluator(evaluators: evaluators)
    }
}
