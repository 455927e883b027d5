// Trust as the authorities see it.

public import FireweedTransport

/// Checks the chain up to a certificate authority, and that the certificate is for the host.
public final class DefaultTrustEvaluator: ServerTrustEvaluating {
    private let validateHost: Bool

    /// Makes an evaluator; `validateHost` says whether the host's name is checked.
    public init(validateHost: Bool = true) {
        self.validateHost = validateHost
    }

    /// Throws `.defaultEvaluationFailed` or `.hostValidationFailed`.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        _ = try trust.checkedChain(performDefaultValidation: true, validateHost: validateHost, host: host)
    }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    /// Checks the chain up to a certificate authority, and that the certificate is for the host.
    public static var `default`: DefaultTrustEvaluator { DefaultTrustEvaluator() }

    /// Checks the chain up to a certificate authority; `validateHost` says whether the host's name is checked.
    public static func `default`(validateHost: Bool) -> DefaultTrustEvaluator {
        DefaultTrustEvaluator(validateHost: validateHost)
    }
}
