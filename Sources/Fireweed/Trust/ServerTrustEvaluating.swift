// How a server is judged.

public import FireweedTransport

/// Judges whether a server is to be trusted.
///
/// Called once for each new TLS connection, inside the handshake, before a byte of a request leaves: on the transport's
/// thread, where it must not wait, unless it says that it `mayWait`. A connection that is used again, or that resumes a TLS
/// session of this session's, is not judged again.
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
    /// It then runs on a thread of its own while other transfers go on, bounded by the request's time-outs. The handshake that
    /// brought the certificates is given up meanwhile, and another one made after it. Default: `false`.
    var mayWait: Bool { get }
}

extension ServerTrustEvaluating {
    /// `false`.
    public var mayWait: Bool { false }
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
