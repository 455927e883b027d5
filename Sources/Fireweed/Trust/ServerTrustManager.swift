// Evaluators by host.

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

    /// Whether a host without an evaluator is refused; otherwise a ``DefaultTrustEvaluator`` decides.
    public let allHostsMustBeEvaluated: Bool
    /// The evaluators by exact host name.
    public let evaluators: [String: any ServerTrustEvaluating]
    /// The evaluators by pattern, for hosts that `evaluators` does not name.
    public let patterns: [HostPattern: any ServerTrustEvaluating]

    /// The evaluator of all hosts; `nil` when the evaluator depends on the host.
    private let everyHost: (any ServerTrustEvaluating)?
    /// `evaluators` by canonical host.
    private let canonical: [String: any ServerTrustEvaluating]

    /// Makes a manager with evaluators for single hosts.
    ///
    /// Hosts compare by their canonical form: upper and lower case are the same, and so are a Unicode name and its
    /// A-labels, a name with and without a dot at its end, and all spellings of an IP address.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: whether a host without an evaluator is refused; true by default. Otherwise a
    ///     ``DefaultTrustEvaluator`` decides.
    ///   - evaluators: the evaluators, by host.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
        patterns = [:]
        everyHost = nil
        canonical = Self.canonical(evaluators)
    }

    /// Makes a manager with evaluators for single hosts, and for all hosts that a pattern covers.
    ///
    /// A host's own evaluator wins over every pattern, then the pattern with the longest name, then `*` over `**`.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: whether a host without an evaluator is refused; true by default. Otherwise a
    ///     ``DefaultTrustEvaluator`` decides.
    ///   - evaluators: the evaluators, by host; none by default.
    ///   - patterns: the evaluators by pattern, for hosts that `evaluators` does not name.
    public init(
        allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating] = [:],
        patterns: [HostPattern: any ServerTrustEvaluating]
    ) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
        self.patterns = patterns
        everyHost = nil
        canonical = Self.canonical(evaluators)
    }

    /// Makes a manager with one evaluator for all hosts.
    package init(everyHost evaluator: any ServerTrustEvaluating) {
        allHostsMustBeEvaluated = true
        evaluators = [:]
        patterns = [:]
        everyHost = evaluator
        canonical = [:]
    }

    /// The evaluator of a host; `nil` when a ``DefaultTrustEvaluator`` decides; throws `noRequiredEvaluator(host:)`.
    open func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        if let everyHost { return everyHost }
        // Another spelling of the host in a URL must not bypass the host's evaluator.
        if let evaluator = canonical[CanonicalHost.text(of: host)] { return evaluator }
        let covering = patterns.filter { $0.key.matches(host) }
        if let best = covering.max(by: { $1.key.isMoreSpecific(than: $0.key) }) { return best.value }
        guard allHostsMustBeEvaluated else { return nil }
        throw AFError.serverTrustEvaluationFailed(reason: .noRequiredEvaluator(host: host))
    }

    /// Whether a decision can depend on the authorities; false when every evaluator is a `DisabledTrustEvaluator`.
    var usesAuthorities: Bool {
        // A subclass may return evaluators that these properties do not contain.
        guard type(of: self) == ServerTrustManager.self, allHostsMustBeEvaluated else { return true }
        let all = Array(evaluators.values) + Array(patterns.values) + [everyHost].compactMap(\.self)
        return !all.allSatisfy { $0 is DisabledTrustEvaluator }
    }

    /// Whether the decision about a host may wait.
    func mayWait(forHost host: String) -> Bool {
        (try? serverTrustEvaluator(forHost: host))?.mayWait ?? false
    }

    /// Evaluates the server of one handshake; called by the transport.
    func decide(_ trust: ServerTrust) throws {
        guard let evaluator = try serverTrustEvaluator(forHost: trust.host) else {
            return try trust.evaluateByAuthorities()
        }
        do {
            try evaluator.evaluate(trust, forHost: trust.host)
        } catch let error as AFError {
            throw error
        } catch {
            throw AFError.serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: error))
        }
    }

    /// The evaluators by canonical host: of several spellings, the canonical one wins, then the first in sorted order.
    private static func canonical(
        _ evaluators: [String: any ServerTrustEvaluating]
    ) -> [String: any ServerTrustEvaluating] {
        let hosts = Set(evaluators.keys.map(CanonicalHost.text))
        return Dictionary(
            uniqueKeysWithValues: hosts.compactMap { host in
                CanonicalHost.rule(for: host, in: evaluators).map { (host, $0) }
            })
    }
}
