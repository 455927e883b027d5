// Which rules hold for which host.

public import FireweedTransport

/// Judges whether a server is to be trusted.
public protocol ServerTrustEvaluating: Sendable {
    /// Throws when the server is not to be trusted. Called inside the TLS handshake, on the transport's thread: it must not wait.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws
}

/// The evaluators of a session, by host.
open class ServerTrustManager: @unchecked Sendable {
    // SAFETY: both stored properties are `let`s of `Sendable` type.

    /// Whether a host without an evaluator is refused; otherwise the authorities decide about it.
    public let allHostsMustBeEvaluated: Bool
    /// The evaluators by exact host name.
    public let evaluators: [String: any ServerTrustEvaluating]

    /// Makes a manager.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
    }

    /// The evaluator of a host, or `nil` when the authorities decide; throws `noRequiredEvaluator(host:)`.
    open func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        if let evaluator = evaluators[host] { return evaluator }
        if allHostsMustBeEvaluated {
            throw AFError.serverTrustEvaluationFailed(reason: .noRequiredEvaluator(host: host))
        }
        return nil
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
}
