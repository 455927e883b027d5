// Trust that needs the consent of several evaluators.

public import FireweedTransport

/// Accepts a server that all of several evaluators accept.
///
/// Anchors that an evaluator sets on the trust also apply to the evaluators after it. A
/// ``PinnedCertificatesTrustEvaluator`` with `acceptSelfSignedCertificates` sets anchors, and a custom evaluator may do
/// so.
public final class CompositeTrustEvaluator: ServerTrustEvaluating {
    private let evaluators: [any ServerTrustEvaluating]

    /// Makes an evaluator that runs several evaluators in order; an empty list accepts every server.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
    }

    /// The texts of the evaluators, in order; `nil` if one of them returns `nil`.
    public var cachePartition: String? {
        let parts = evaluators.compactMap(\.cachePartition)
        return parts.count == evaluators.count ? "all of [\(parts.joined(separator: ", "))]" : nil
    }

    /// Whether one of the evaluators may wait.
    public var mayWait: Bool { evaluators.contains(where: \.mayWait) }

    /// Runs the evaluators in order and rethrows the first failure; later evaluators do not run.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        try evaluators.evaluate(trust, forHost: host)
    }
}

extension CompositeTrustEvaluator: ServerIdentityChecking {
    var checksIdentity: Bool {
        evaluators.contains { ($0 as? any ServerIdentityChecking)?.checksIdentity ?? true }
    }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
    /// Accepts a server that all of several evaluators accept.
    public static func composite(evaluators: [any ServerTrustEvaluating]) -> CompositeTrustEvaluator {
        CompositeTrustEvaluator(evaluators: evaluators)
    }
}
