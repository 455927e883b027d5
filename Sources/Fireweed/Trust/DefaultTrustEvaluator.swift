// Trust in chains that lead to a certificate authority.

public import FireweedTransport

/// Checks the chain up to a certificate authority, and that the certificate is for the host.
public final class DefaultTrustEvaluator: ServerTrustEvaluating {
    private let validateHost: Bool

    /// Makes an evaluator; `validateHost` says whether the host's name is checked.
    public init(validateHost: Bool = true) {
        self.validateHost = validateHost
    }

    /// A text that names the checks.
    public var cachePartition: String? { Self.partition(validateHost: validateHost) }

    /// The partition of a session without a trust manager.
    static let ordinaryPartition = partition(validateHost: true)

    private static func partition(validateHost: Bool) -> String {
        "default" + CachePartition.checks(performDefaultValidation: true, validateHost: validateHost)
    }

    /// Throws `.trustEvaluationFailed(error:)` around a `TrustFailure`.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        _ = try trust.checkedChain(performDefaultValidation: true, validateHost: validateHost, host: host)
    }
}

extension DefaultTrustEvaluator: ServerIdentityChecking {
    var checksIdentity: Bool { validateHost }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    /// Checks the chain up to a certificate authority, and that the certificate is for the host.
    public static var `default`: DefaultTrustEvaluator { DefaultTrustEvaluator() }

    /// Checks the chain up to a certificate authority; `validateHost` says whether the host's name is checked.
    public static func `default`(validateHost: Bool) -> DefaultTrustEvaluator {
        DefaultTrustEvaluator(validateHost: validateHost)
    }
}
