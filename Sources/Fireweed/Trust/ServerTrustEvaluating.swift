// The protocol of evaluators of server trust.

public import FireweedTransport

/// Decides whether a server is trusted.
///
/// Called once for each new TLS connection, inside the handshake, before a byte of a request is sent. It runs on the
/// transport's thread, where it must not wait, unless `mayWait` is true. A reused connection, and a connection that
/// resumes a TLS session of this session, are not evaluated again. The host is spelled as in the URL; the manager finds
/// the evaluator by the canonical form of the host.
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
    /// Returns when the server is trusted, and throws when it is not.
    ///
    /// - Parameters:
    ///   - trust: the certificates of the server, and the checks that it offers.
    ///   - host: the host in the spelling of the URL.
    /// - Throws: the reason. An ``AFError`` reaches the caller as it is, another error in
    ///   `AFError.serverTrustEvaluationFailed(reason: .customEvaluationFailed(error:))`.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws

    /// Whether the evaluation may wait, for the network or a file.
    ///
    /// Such an evaluation runs on a thread for evaluations, of which a session has 16 at most, while other transfers
    /// continue; the request's time-outs limit the wait. The handshake waits for the evaluation. If the server closes
    /// the connection before it is accepted, a second connection is made. Handshakes with one host that bring the same
    /// certificates and stapled status while the evaluator runs share its result. Default: `false`.
    var mayWait: Bool { get }

    /// Names the servers that the evaluator accepts, for caches that several sessions share.
    ///
    /// A stored response of an `https` URL answers only sessions whose evaluators for the host have the same value:
    /// a response of an unchecked server is not given to a session that checks the server. Evaluators that accept
    /// different servers return different values. Read for every request of a session with a cache, on any thread.
    ///
    /// Default: `nil`, which keeps the stored responses of the hosts to the session that fetched them. To share them,
    /// return a text that contains everything on which the evaluator's decision depends.
    var cachePartition: String? { get }
}

extension ServerTrustEvaluating {
    /// `false`.
    public var mayWait: Bool { false }
}

extension ServerTrust {
    /// Evaluates the server as a session without rules does; the error is then the transport's, not that of a rule.
    func evaluateByAuthorities() throws(TrustFailure) {
        _ = try evaluateChain()
        try evaluateHost(host)
    }

    /// Makes the two checks that most evaluators begin with, and returns the chain to search for pins.
    func checkedChain(
        performDefaultValidation: Bool, validateHost: Bool, host: String
    ) throws(AFError) -> [Certificate] {
        let verdict = Result { () throws(TrustFailure) -> [Certificate] in try evaluateChain() }
        if performDefaultValidation, case .failure(let failure) = verdict {
            throw .serverTrustEvaluationFailed(reason: .trustEvaluationFailed(error: failure))
        }
        if validateHost {
            do {
                try evaluateHost(host)
            } catch {
                throw .serverTrustEvaluationFailed(reason: .trustEvaluationFailed(error: error))
            }
        }
        return (try? verdict.get()) ?? certificates
    }
}
