// Evaluators that verify a server's identity.

/// An evaluator that reports whether it checks a server's identity; an evaluator without this protocol counts as
/// checking.
protocol ServerIdentityChecking {
    /// Whether an accepted server has proven that it is the host, by its certificate or by a pinned key.
    var checksIdentity: Bool { get }
}

extension DisabledTrustEvaluator: ServerIdentityChecking {
    var checksIdentity: Bool { false }
}

extension ServerTrustManager {
    /// Whether servers of a host are accepted only after a check of their identity.
    func checksIdentity(ofHost host: String) -> Bool {
        guard let evaluator = try? serverTrustEvaluator(forHost: host) else { return true }
        return (evaluator as? any ServerIdentityChecking)?.checksIdentity ?? true
    }
}
