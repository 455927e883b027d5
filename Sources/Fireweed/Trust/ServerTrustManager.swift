// Which rules hold for which host.

import FireweedTransport

/// The evaluators of a session, by host.
///
/// ```swift
/// let manager = ServerTrustManager(
///     evaluators: ["api.example.com": .publicKeys(keys: keys)],
///     patterns: [try HostPattern("*.example.com"): .default])
/// ```
open class ServerTrustManager: @unchecked Sendable {
    // SAFETY: every stored property is a `let` of `Sendable` type.

    /// Whether a host without an evaluator is refused; otherwise the authorities decide about it.
    public let allHostsMustBeEvaluated: Bool
    /// The evaluators by exact host name.
    public let evaluators: [String: any ServerTrustEvaluating]
    /// The evaluators of hosts that have none by name.
    public let patterns: [HostPattern: any ServerTrustEvaluating]

    private let comparable: [String: any ServerTrustEvaluating]

    /// Makes a manager of rules for single hosts.
    ///
    /// Upper and lower case are the same.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
        patterns = [:]
        comparable = Self.comparable(evaluators)
    }

    /// Makes a manager of rules for single hosts, and for all that a pattern covers.
    ///
    /// A host's own rule goes before every pattern, then the pattern with the longest name, then `*` before `**`.
    public init(
        allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating] = [:],
        patterns: [HostPattern: any ServerTrustEvaluating]
    ) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
        self.patterns = patterns
        comparable = Self.comparable(evaluators)
    }

    /// The evaluator of a host, or `nil` when the authorities decide; throws `noRequiredEvaluator(host:)`.
    open func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        // A URL may spell the host in its own way, and must not get around a rule by it.
        if let evaluator = evaluators[host] ?? comparable[HostPattern.comparable(host)] { return evaluator }
        let covering = patterns.filter { $0.key.matches(host) }
        if let best = covering.max(by: { $1.key.isMoreSpecific(than: $0.key) }) { return best.value }
        guard allHostsMustBeEvaluated else { return nil }
        throw AFError.serverTrustEvaluationFailed(reason: .noRequiredEvaluator(host: host))
    }

    /// Whether the decision about a host may wait.
    func mayWait(forHost host: String) -> Bool {
        (try? serverTrustEvaluator(forHost: host))?.mayWait ?? false
    }

    /// The decision about one handshake, as the transport asks for it.
    func decide(_ trust: ServerTrust) throws {
        let evaluator = try serverTrustEvaluator(forHost: trust.host) ?? DefaultTrustEvaluator()
        do {
            try evaluator.evaluate(trust, forHost: trust.host)
        } catch let error as AFError {
            throw error
        } catch {
            throw AFError.serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: error))
        }
    }

    /// Of names that differ in case only, the one that sorts first: always the same.
    private static func comparable(
        _ evaluators: [String: any ServerTrustEvaluating]
    ) -> [String: any ServerTrustEvaluating] {
        let pairs = evaluators.sorted { $0.key < $1.key }.map { (HostPattern.comparable($0.key), $0.value) }
        return Dictionary(pairs) { first, _ in first }
    }
}
