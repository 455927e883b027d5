// A session's rules about servers, as a part of cache keys.

extension SessionTrust: CacheTrust {
    /// Names the trust rules for a host; `nil` when the certificate authorities alone decide.
    func cachePartition(forHost host: String) -> String? {
        let ordinary = DefaultTrustEvaluator.ordinaryPartition
        var parts = delegatePartition.map { [$0] } ?? []
        do {
            let evaluator = try manager?.serverTrustEvaluator(forHost: host)
            let rule = evaluator.map { $0.cachePartition ?? ownPartition } ?? ordinary
            if rule != ordinary { parts.append(rule) }
        } catch {
            // Without an evaluator, no connection to this host is made.
            parts.append("no evaluator")
        }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}
