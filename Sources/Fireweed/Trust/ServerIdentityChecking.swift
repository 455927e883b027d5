// Evaluators that verify a server's identity.

/// An evaluator that may accept servers without a check of their identity; evaluators of other types count as checks.
protocol ServerIdentityChecking {
    /// Whether a server that is accepted has proven to be the host, by its certificate or by a pinned key.
    var checksIdentity: Bool { get }
}

extension DisabledTrustEvaluator: ServerIdentityChecking {
    var checksIdentity: Bool { false }
}

extension ServerTrustManager {
    /// Whether servers of a host are accepted after a check of their identity alone.
    func checksIdentity(ofHost host: String) -> Bool {
        guard let evaluator = try? serverTrustEvaluator(forHost: host) else { return true }
        return (evaluator as? any ServerIdentityChecking)?.checksIdentity ?? true
    }
}
