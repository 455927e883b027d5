// The members of Alamofire's `af` that custom evaluators use.

public import FireweedTransport
public import Foundation

extension ServerTrust: AlamofireExtended {}

extension AlamofireExtension where ExtendedType == ServerTrust {
    /// Replaces the trust's policy, and evaluates the trust.
    public func evaluate(afterApplying policy: TrustPolicy) throws {
        try apply(policy: policy).af.evaluate()
    }

    /// Replaces the trust's policy.
    ///
    /// - Returns: the trust itself.
    @discardableResult
    public func apply(policy: TrustPolicy) throws -> ServerTrust {
        type.apply(policy)
        return type
    }

    /// Checks the chain up to an authority, and the other conditions of the trust's policy.
    ///
    /// - Throws: `AFError.serverTrustEvaluationFailed(reason: .trustEvaluationFailed(error:))` around a `TrustFailure`.
    public func evaluate() throws {
        do {
            try type.evaluate()
        } catch {
            throw AFError.serverTrustEvaluationFailed(reason: .trustEvaluationFailed(error: error))
        }
    }

    /// Replaces the trust's policy, and evaluates the trust.
    ///
    /// - Parameters:
    ///   - policy: what to check.
    ///   - errorProducer: makes the error from the status and the result, which are as in Apple's Security framework;
    ///     called on this thread when the check fails.
    /// - Throws: the error of `errorProducer`.
    public func validate(
        policy: TrustPolicy, errorProducer: (_ status: Int32, _ result: TrustResult) -> any Error
    ) throws {
        try apply(policy: policy).af.validate(errorProducer: errorProducer)
    }

    /// Evaluates the trust; `errorProducer` makes the error that is thrown when the evaluation fails.
    public func validate(errorProducer: (_ status: Int32, _ result: TrustResult) -> any Error) throws {
        do {
            try type.evaluate()
        } catch {
            throw errorProducer(error.evaluationStatus, error.evaluationResult)
        }
    }

    /// Trusts these certificates as authorities, and no others, for this handshake.
    ///
    /// Later evaluators of the same trust, such as those of a `CompositeTrustEvaluator`, trust them too.
    public func setAnchorCertificates(_ certificates: [Certificate]) throws {
        type.setAnchors(certificates)
    }

    /// The keys of `certificates`, without those that cannot be read.
    public var publicKeys: [PublicKey] { certificates.af.publicKeys }

    /// The chain, beginning with the server's certificate.
    ///
    /// An evaluator that pins certificates compares its pins with these certificates.
    ///
    /// A certificate that the server sends additionally, outside the chain, is left out.
    public var certificates: [Certificate] { type.certificates }

    /// The `certificates` in DER.
    public var certificateData: [Data] { certificates.af.data }

    /// Checks the chain up to an authority, for any host.
    ///
    /// - Throws: `AFError.serverTrustEvaluationFailed(reason: .trustEvaluationFailed(error:))` around a `TrustFailure`.
    public func performDefaultValidation(forHost host: String) throws {
        try evaluate(afterApplying: .chain)
    }

    /// Checks the chain up to an authority, and that the server's certificate is for the host.
    ///
    /// - Throws: `AFError.serverTrustEvaluationFailed(reason: .trustEvaluationFailed(error:))` around a `TrustFailure`.
    public func performValidation(forHost host: String) throws {
        try evaluate(afterApplying: .host(host))
    }
}

extension TrustPolicy: AlamofireExtended {}

extension AlamofireExtension where ExtendedType == TrustPolicy {
    /// Checks the chain up to an authority.
    public static var `default`: TrustPolicy { .chain }

    /// Checks the chain up to an authority, and that the server's certificate is for the host.
    public static func hostname(_ hostname: String) -> TrustPolicy { .host(hostname) }

    /// Checks the chain up to an authority, and that no certificate of it is revoked.
    ///
    /// The check waits for the network unless the options contain `networkAccessDisabled`. An evaluator whose `mayWait`
    /// is false is then called twice: the first result, from the event loop's thread, is discarded.
    public static func revocation(options: RevocationTrustEvaluator.Options) throws -> TrustPolicy {
        let evaluator = RevocationTrustEvaluator(validateHost: false, options: options)
        return TrustPolicy(description: "chain and revocation") { (trust) throws(TrustFailure) in
            try evaluator.check(trust, path: trust.evaluateChain())
        }
    }
}

extension Certificate: AlamofireExtended {}

extension AlamofireExtension where ExtendedType == Certificate {
    /// The certificate's public key, or `nil` when it cannot be read.
    public var publicKey: PublicKey? { try? type.publicKey }
}

extension Array: AlamofireExtended where Element == Certificate {}

extension AlamofireExtension where ExtendedType == [Certificate] {
    /// The certificates in DER, in their order.
    public var data: [Data] { type.map(\.derRepresentation) }

    /// The certificates' public keys in their order, without those that cannot be read.
    public var publicKeys: [PublicKey] { type.compactMap(\.af.publicKey) }
}

extension Array where Element == any ServerTrustEvaluating {
    /// Runs the evaluators in order and rethrows the first failure; later evaluators do not run.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        for evaluator in self { try evaluator.evaluate(trust, forHost: host) }
    }
}
