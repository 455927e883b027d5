// The evaluation of the certificates that a server showed.

public import Foundation
import Synchronization

/// The chain that a server showed in the TLS handshake, for a `ServerTrustEvaluating` to judge.
///
/// Nothing here uses the network, so that it can be called inside the handshake. The authorities are read at the first
/// use of each in the process. An evaluator may replace the authorities (`setAnchors(_:)`) and the policy
/// (`apply(_:)`); both apply to later evaluators of the same trust, and to this handshake only.
public final class ServerTrust: Sendable {
    /// The certificates that the server sent: the leaf first, the rest in the server's order.
    ///
    /// Anything may follow the leaf: use `certificates` for a decision.
    public let presentedCertificates: [Certificate]
    /// The host that the connection is for.
    public let host: String
    /// The authorities to trust.
    public let authorities: CertificateAuthorities
    /// The requirements on the chain besides an authority at its end.
    public let rules: TrustRules
    /// The OCSP response in DER that the server stapled to its certificate (RFC 6960); its content is not checked.
    ///
    /// `nil` when the server sent none, or was not asked: it is asked when the host's evaluator `mayWait`.
    public let stapledStatus: Data?

    /// The port that the connection is for; `nil` for a trust without a connection.
    package let port: UInt16?
    /// Whether the thread that evaluates the trust may wait for the network.
    package let mayWait: Bool
    /// Fetches revocation statuses, by the proxies and routes of the session; `nil` for a trust without a session.
    package let statuses: (any StatusSource)?

    private struct State {
        /// The authorities that an evaluator has set instead of `authorities`.
        var anchors: [Certificate]?
        var policy = TrustPolicy.chain
        // A verification takes about a millisecond, so its result is kept; it depends on the other values alone.
        var verdict: Result<[Certificate], TrustFailure>?
        var wantsToWait = false
        var verdictEnd: Date?
    }

    private let state = Mutex(State())
    /// The chain that the presented certificates form without authorities; it depends on nothing that can change.
    private let ownChain = Mutex<[Certificate]?>(nil)

    /// Makes a trust, for tests of evaluators and for chains from elsewhere.
    ///
    /// - Parameters:
    ///   - certificates: what the server sent, the leaf first.
    ///   - host: the host that the connection is for.
    ///   - authorities: the authorities; those of the system by default.
    ///   - rules: the other requirements on the chain.
    ///   - stapledStatus: the OCSP response that the server stapled, in DER; `nil`, the default, for none.
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

    /// The certificates that vouch for the leaf, which comes first; each is issued by the next one.
    ///
    /// When the chain is trusted, it is the verified chain up to and including the authority, even where the server did
    /// not send the authority. Otherwise it is the part of the sent certificates that forms a chain, at least the leaf;
    /// empty only when no certificate can be read. Look for pins here.
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
    /// The host is not checked. The result for the trust's own authorities is computed once.
    ///
    /// - Parameter anchors: certificates to take as authorities for this call; they need not be roots. `nil`, the
    ///   default, takes those of `setAnchors(_:)`, else `authorities`.
    /// - Returns: the verified chain up to an authority, the leaf first. Where the authority is not a root, the
    ///   server's certificates above it follow.
    /// - Throws: the ``TrustFailure`` that says which check failed.
    @discardableResult
    public func evaluateChain(anchors: [Certificate]? = nil) throws(TrustFailure) -> [Certificate] {
        guard let anchors else { return try standardVerdict.get() }
        return try Self.verify(presentedCertificates, against: .certificates(anchors), rules: rules)
    }

    /// Checks that the leaf is for `host` (RFC 9110 §4.3.4); throws `TrustFailure.hostMismatch`, or `.noCertificate`.
    public func evaluateHost(_ host: String) throws(TrustFailure) {
        guard let leaf = presentedCertificates.first else { throw .noCertificate }
        guard leaf.isValid(forHost: host) else {
            throw .hostMismatch(host: host, names: leaf.subjectAlternativeNames)
        }
    }

    /// Replaces the authorities, for this trust.
    ///
    /// - Parameter certificates: the certificates to take as authorities, which need not be roots; with none,
    ///   no chain is trusted.
    public func setAnchors(_ certificates: [Certificate]) {
        state.withLock {
            $0.anchors = certificates
            $0.verdict = nil
        }
    }

    /// What `evaluate()` checks; `TrustPolicy.chain` at first.
    public var policy: TrustPolicy { state.withLock { $0.policy } }

    /// Replaces what `evaluate()` checks.
    public func apply(_ policy: TrustPolicy) {
        state.withLock { $0.policy = policy }
    }

    /// Checks the chain up to an authority, and what the `policy` adds; throws the first failure.
    public func evaluate() throws(TrustFailure) {
        try policy.check(self)
    }

    /// Asks for another evaluation on a thread that may wait; the result of this one is then ignored.
    package func requestWaitingEvaluation() {
        state.withLock { $0.wantsToWait = true }
    }

    /// Limits the time for which the verdict is valid, for example to the `nextUpdate` of an OCSP response.
    ///
    /// The earliest limit applies: no TLS session is resumed after it without another evaluation.
    package func limitVerdict(to end: Date) {
        state.withLock { $0.verdictEnd = min($0.verdictEnd ?? end, end) }
    }

    /// The end of the verdict, as far as an evaluation has set one.
    var verdictEnd: Date? { state.withLock { $0.verdictEnd } }

    /// Whether an evaluation needed to wait where it must not.
    var wantsToWait: Bool { state.withLock { $0.wantsToWait } }

    private var standardVerdict: Result<[Certificate], TrustFailure> {
        let (known, anchors) = state.withLock { ($0.verdict, $0.anchors) }
        if let known { return known }
        let authorities = anchors.map { CertificateAuthorities.certificates($0) } ?? authorities
        let verdict = Result { () throws(TrustFailure) -> [Certificate] in
            try Self.verify(presentedCertificates, against: authorities, rules: rules)
        }
        // Kept unless another evaluator has replaced the anchors meanwhile.
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
    /// The host, and a line for each certificate of the chain.
    public var description: String {
        "Trust of \(host):" + certificates.map { "\n    \($0)" }.joined()
    }

    /// What the server sent, with every field, and what the authorities say.
    public var debugDescription: String {
        let verdict =
            switch standardVerdict {
            case .success: "trusted"
            case .failure(let failure): "not trusted: \(failure.plainText)"
            }
        return "Trust of \(host), \(verdict)" + presentedCertificates.map { "\n\($0.debugDescription)" }.joined()
    }
}
