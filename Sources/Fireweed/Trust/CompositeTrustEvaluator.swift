// Several judgements at once.

public import FireweedTransport

/// Accepts a server that all of several evaluators accept.
///
/// The authorities that a ``PinnedCertificatesTrustEvaluator`` accepts hold for that evaluator only. Anchors that a
/// custom evaluator sets on the trust hold for the evaluators after it.
public final class CompositeTrustEvaluator: ServerTrustEvaluating {
    private let evaluators: [any ServerTrustEvaluating]

    /// Makes an evaluator of others, which run in their order; without any it accepts every server.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
    }

    /// Those of the evaluators, in their order.
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
