// The evaluation of a server's certificates.

public import Foundation
import Synchronization

/// The certificates that a server sent in the TLS handshake, for a `ServerTrustEvaluating` to evaluate.
///
/// The public methods do not use the network, so they can be called during the handshake. Authorities are read at their
/// first use in the process, and again after their file has changed. An evaluator may replace the authorities
/// (`setAnchors(_:)`) and the policy (`apply(_:)`) of this trust: this affects later evaluators of the same handshake,
/// and no other handshake.
public final class ServerTrust: Sendable {
    /// The certificates that the server sent: the leaf first, the rest in the server's order.
    ///
    /// Any certificate may follow the leaf: use `certificates` for a decision.
    public let presentedCertificates: [Certificate]
    /// The host that the leaf certificate must be for.
    public let host: String
    /// The authorities to trust.
    public let authorities: CertificateAuthorities
    /// The requirements on the chain, besides leading to an authority.
    public let rules: TrustRules
    /// The stapled OCSP response in DER (RFC 6960); its content is not checked.
    ///
    /// `nil` if the server sent none, or if we did not request one: we request it if the host's evaluator `mayWait`.
    public let stapledStatus: Data?

    /// The port of the connection; `nil` for a trust without a connection.
    package let port: UInt16?
    /// Whether the evaluating thread may wait for the network.
    package let mayWait: Bool
    /// Fetches revocation statuses with the session's proxies and routes; `nil` for a trust without a session.
    package let statuses: (any StatusSource)?

    private struct State {
        /// The authorities that an evaluator has set instead of `authorities`.
        var anchors: [Certificate]?
        var policy = TrustPolicy.chain
        // The result is kept, because a verification takes about a millisecond. It depends only on `anchors` and on
        // constants.
        var verdict: Result<[Certificate], TrustFailure>?
        var wantsToWait = false
        var verdictEnd: Date?
    }

    private let state = Mutex(State())
    /// The chain that the presented certificates form without authorities; it depends on constants only.
    private let ownChain = Mutex<[Certificate]?>(nil)

    /// Makes a trust without a connection, to test evaluators or to check a chain from another source.
    ///
    /// - Parameters:
    ///   - certificates: the server's certificates, the leaf first.
    ///   - host: the host that the leaf certificate must be for.
    ///   - authorities: the authorities; those of the system by default.
    ///   - rules: the other requirements on the chain.
    ///   - stapledStatus: the stapled OCSP response in DER; `nil`, the default, for none.
    public convenience init(
        certificates: [Certificate], host: String, authorities: CertificateAuthorities = .system,
        rules: TrustRules = TrustRules(), stapledStatus: Data? = nil
    ) {
        self.init(
            certificates: certificates, host: host, authorities: authorities, rules: rules,
            stapledStatus: stapledStatus, port: nil, mayWait: true, statuses: nil)
    }

    init(
        certificates: [Certificate], host: String, authorities: CertificateAuthorities, rules: TrustRules,
        stapledStatus: Data?, port: UInt16?, mayWait: Bool, statuses: (any StatusSource)?
    ) {
        presentedCertificates = certificates
        self.host = host
        self.authorities = authorities
        self.rules = rules
        self.stapledStatus = stapledStatus
        self.port = port
        self.mayWait = mayWait
        self.statuses = statuses
    }

    /// The chain that starts with the leaf, in which the next certificate is the issuer of each.
    ///
    /// If the chain is trusted, it is the verified chain including the authority, even if the server did not send the
    /// authority. Otherwise it is the part of the sent certificates that forms a chain from the leaf on; it is empty
    /// only if no certificate can be read. Compare pins with these certificates.
    public var certificates: [Certificate] {
        if case .success(let path) = standardVerdict { return path }
        if let known = ownChain.withLock({ $0 }) { return known }
        let path = ChainVerification(presentedCertificates, rules: rules).ownPath()
        return ownChain.withLock { chain in
            chain = chain ?? path
            return chain ?? path
        }
    }

    /// Checks signatures, dates, purpose and constraints up to an authority.
    ///
    /// The host is not checked. Without `anchors`, the result is kept until `setAnchors(_:)` is called.
    ///
    /// - Parameter anchors: the authorities for this call, which need not be roots. `nil`, the default, uses those of
    ///   `setAnchors(_:)`, or else `authorities`.
    /// - Returns: the verified chain up to an authority, the leaf first. If the authority is not a root, the server's
    ///   certificates above the authority follow.
    /// - Throws: a ``TrustFailure`` that says which check failed.
    @discardableResult
    public func evaluateChain(anchors: [Certificate]? = nil) throws(TrustFailure) -> [Certificate] {
        guard let anchors else { return try standardVerdict.get() }
        return try Self.verify(presentedCertificates, against: .certificates(anchors), rules: rules)
    }

    /// Checks that the leaf is valid for `host` (RFC 9110 §4.3.4); throws `TrustFailure.hostMismatch` or
    /// `.noCertificate`.
    public func evaluateHost(_ host: String) throws(TrustFailure) {
        guard let leaf = presentedCertificates.first else { throw .noCertificate }
        guard leaf.isValid(forHost: host) else {
            throw .hostMismatch(host: host, names: leaf.subjectAlternativeNames)
        }
    }

    /// Replaces the authorities of this trust.
    ///
    /// - Parameter certificates: the new authorities, which need not be roots; if empty, no chain is trusted.
    public func setAnchors(_ certificates: [Certificate]) {
        state.withLock {
            $0.anchors = certificates
            $0.verdict = nil
        }
    }

    /// The checks of `evaluate()`; initially `TrustPolicy.chain`.
    public var policy: TrustPolicy { state.withLock { $0.policy } }

    /// Replaces the checks of `evaluate()`.
    public func apply(_ policy: TrustPolicy) {
        state.withLock { $0.policy = policy }
    }

    /// Checks the chain up to an authority, and what `policy` adds; throws the first failure.
    public func evaluate() throws(TrustFailure) {
        try policy.check(self)
    }

    /// Requests another evaluation on a thread that may wait; the result of the current evaluation is then ignored.
    package func requestWaitingEvaluation() {
        state.withLock { $0.wantsToWait = true }
    }

    /// Limits how long the verdict is valid, for example to the `nextUpdate` of an OCSP response.
    ///
    /// The earliest limit applies; after it, no TLS session is resumed without another evaluation.
    package func limitVerdict(to end: Date) {
        state.withLock { $0.verdictEnd = min($0.verdictEnd ?? end, end) }
    }

    /// The end of the verdict that evaluators have set; `nil` if none has.
    var verdictEnd: Date? { state.withLock { $0.verdictEnd } }

    /// Whether an evaluation needed to wait on a thread that must not.
    var wantsToWait: Bool { state.withLock { $0.wantsToWait } }

    private var standardVerdict: Result<[Certificate], TrustFailure> {
        let (known, anchors) = state.withLock { ($0.verdict, $0.anchors) }
        if let known { return known }
        let authorities = anchors.map { CertificateAuthorities.certificates($0) } ?? authorities
        let verdict = Result { () throws(TrustFailure) -> [Certificate] in
            try Self.verify(presentedCertificates, against: authorities, rules: rules)
        }
        // The result is stored unless another evaluator has replaced the anchors during the verification.
        state.withLock { if $0.anchors == anchors { $0.verdict = verdict } }
        return verdict
    }

    private static func verify(
        _ certificates: [Certificate], against authorities: CertificateAuthorities, rules: TrustRules
    ) throws(TrustFailure) -> [Certificate] {
        let store = try AuthorityStore.shared(for: authorities)
        return try ChainVerification(certificates, rules: rules).path(to: store)
    }
}

extension ServerTrust: CustomStringConvertible, CustomDebugStringConvertible {
    /// The host, followed by a line for each certificate of the chain.
    public var description: String {
        "Trust of \(host):" + certificates.map { "\n    \($0)" }.joined()
    }

    /// The host, the verdict, and every field of the certificates that the server sent.
    public var debugDescription: String {
        let verdict =
            switch standardVerdict {
            case .success: "trusted"
            case .failure(let failure): "not trusted: \(failure.plainText)"
            }
        return "Trust of \(host), \(verdict)" + presentedCertificates.map { "\n\($0.debugDescription)" }.joined()
    }
}
