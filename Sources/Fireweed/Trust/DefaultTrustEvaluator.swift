// Trust as the authorities see it.

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
        _ = try trust.checkedChain(performDefaultValidation: true, validateHost: validateHost, host: host)
    }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    /// Leaves it to the authorities, and checks that the certificate is for the host.
    public static var `default`: DefaultTrustEvaluator { DefaultTrustEvaluator() }

    /// Leaves it to the authorities; `validateHost` says whether the name is checked.
    public static func `default`(validateHost: Bool) -> DefaultTrustEvaluator {
        DefaultTrustEvaluator(validateHost: validateHost)
    }
}
