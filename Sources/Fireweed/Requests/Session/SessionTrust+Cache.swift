// A session's rules about servers, as a part of cache keys.

extension SessionTrust: CacheTrust {
    /// Returns a name for the trust rules of a host; `nil` when only the certificate authorities decide.
    func cachePartition(forHost host: String) -> String? {
        let ordinary = DefaultTrustEvaluator.ordinaryPartition
        var parts = delegatePartition.map { [$0] } ?? []
        do {
            let evaluator = try manager?.serverTrustEvaluator(forHost: host)
            let rule = evaluator.map { $0.cachePartition ?? ownPartition } ?? ordinary
            if rule != ordinary { parts.append(rule) }
        } catch {
            // A host without an evaluator gets no connection, so its partition is never shared.
            parts.append("no evaluator")
        }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}
