// How a server is judged.

public import FireweedTransport

/// Judges whether a server is to be trusted.
///
/// Called once for each new TLS connection, inside the handshake, before a byte of a request leaves: on the transport's
/// thread, where it must not wait, unless it says that it `mayWait`. A connection that is used again, or that resumes a
/// TLS session of this session's, is not judged again. The host is the URL's own spelling, in which other spellings of
/// the same host may differ: the manager has found the evaluator by the canonical form.
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

    /// Whether the evaluation may wait, for the network or a file.
    ///
    /// It then runs on a thread for such evaluations, of which a session has 16 at most, while other transfers
    /// continue; the request's time-outs bound the wait. The handshake that brought the certificates is aborted, and
    /// another one is made when the evaluator accepts the server. Handshakes with one host that bring the same
    /// certificates and status while the evaluator runs share its verdict. Default: `false`.
    var mayWait: Bool { get }
}

extension ServerTrustEvaluating {
    /// `false`.
    public var mayWait: Bool { false }
}

extension ServerTrust {
    /// The two checks that most evaluators begin with, and the chain in which pins are then looked for.
    func checkedChain(
        performDefaultValidation: Bool, validateHost: Bool, host: String
    ) throws(AFError) -> [Certificate] {
        let verdict = Result { () throws(TrustFailure) -> [Certificate] in try evaluateChain() }
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
