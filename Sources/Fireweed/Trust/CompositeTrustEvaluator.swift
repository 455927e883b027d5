// Several judgements at once.

public import FireweedTransport

/// Accepts what all of several evaluators accept.
///
/// Each judges by itself: what one takes as authorities, others do not.
public final class CompositeTrustEvaluator: ServerTrustEvaluating {
    private let evaluators: [any ServerTrustEvaluating]

    /// Makes an evaluator of others, which are asked in their order; without any it accepts everyone.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
    }

    /// Whether one of the evaluators may wait.
    public var mayWait: Bool { evaluators.contains(where: \.mayWait) }

    /// Throws what the first evaluator throws that does not accept the chain; the rest is not asked.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        for evaluator in evaluators { try evaluator.evaluate(trust, forHost: host) }
    }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
    /// Accepts what all of several evaluators accept.
    public static func composite(evaluators: [any ServerTrustEvaluating]) -> CompositeTrustEvaluator {
        CompositeTrustEvaluator(evaluators: evaluators)
    }
}
