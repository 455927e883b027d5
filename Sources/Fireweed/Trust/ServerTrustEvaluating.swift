// How a server is judged.

public import FireweedTransport

/// Judges whether a server is to be trusted.
///
/// Called once for each new TLS connection, inside the handshake and on the transport's thread, before a byte of a request
/// leaves: it must not wait. A connection that is used again is not judged again.
///
/// ```swift
/// struct OnlyOurs: ServerTrustEvaluating {
///     func evaluate(_ trust: ServerTrust, forHost host: String) throws {
///         try trust.evaluateChain()
///         try trust.evaluateHost(host)
///         guard trust.certificates[0].subject.contains("O = Fireweed") else { throw NotOurs() }
///     }
/// }
/// ```
public protocol ServerTrustEvaluating: Sendable {
    /// Throws when the server is not to be trusted.
    ///
    /// What is no `AFError` reaches the caller as `.serverTrustEvaluationFailed(reason: .customEvaluationFailed)`.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws
}

extension ServerTrust {
    /// The two checks that most evaluators begin with, and the chain in which pins are then looked for.
    func checkedChain(
        performDefaultValidation: Bool, validateHost: Bool, host: String, anchors: [Certificate]? = nil
    ) throws(AFError) -> [Certificate] {
        let verdict = Result { () throws(TrustFailure) -> [Certificate] in try evaluateChain(anchors: anchors) }
        if performDefaultValidation, case .failure(let failure) = verdict {
            throw .serverTrustEvaluationFailed(
                reason: .defaultEvaluationFailed(output: .init(host: host, trust: self, failure: failure)))
        }
        if validateHost {
            do {
                try evaluateHost(host)
            } catch {
                throw .serverTrustEvaluationFailed(
                    reason: .hostValidationFailed(output: .init(host: host, trust: self, failure: error)))
            }
        }
        return (try? verdict.get()) ?? certificates
    }
}
