// The certificates that a server showed, and what can be said of them.

public import Foundation
import Synchronization

/// The chain that a server showed in the TLS handshake, for a `ServerTrustEvaluating` to judge.
///
/// Nothing here waits or touches the network, so that it can be asked inside the handshake. The authorities are read at
/// the first use of each in the process.
public final class ServerTrust: Sendable {
    /// What the server sent, the leaf first, the rest in its order.
    ///
    /// Anything may follow the leaf: for a decision take `certificates`.
    public let presentedCertificates: [Certificate]
    /// The host that the connection is for.
    public let host: String
    /// The authorities that vouch for chains here.
    public let authorities: CertificateAuthorities
    /// What is asked of the chain beside an authority at its end.
    public let rules: TrustRules
    /// What the server says of its certificate's status, unasked for and unchecked: an OCSP response in DER (RFC 6960).
    ///
    /// `nil` when it did not say, and when it was not asked: it is when the host's evaluator `mayWait`.
    public let stapledStatus: Data?

    // Both are pure functions of the `let`s above, kept because a verification costs about a millisecond.
    private let verdict = Mutex<Result<[Certificate], TrustFailure>?>(nil)
    private let chain = Mutex<[Certificate]?>(nil)

    /// Makes a trust of a chain, the leaf first.
    ///
    /// The status, an OCSP response in DER, is what the server stapled to it.
    public init(
        certificates: [Certificate], host: String, authorities: CertificateAuthorities = .system,
        rules: TrustRules = TrustRules(), stapledStatus: Data? = nil
    ) {
        presentedCertificates = certificates
        self.host = host
        self.authorities = authorities
        self.rules = rules
        self.stapledStatus = stapledStatus
    }

    /// The certificates that vouch for the leaf, which comes first; each is issued by the next one.
    ///
    /// When the authorities vouch for the server, it is the verified chain up to and with the authority, also where the
    /// server did not send that. Otherwise it is how far the sent certificates hold together, which is at least the leaf;
    /// empty only when the server showed nothing. Pins are to be looked for here.
    public var certificates: [Certificate] {
        if case .success(let path) = standardVerdict { return path }
        if let known = chain.withLock({ $0 }) { return known }
        let path = ChainVerification(presentedCertificates, rules: rules).ownPath()
        return chain.withLock { chain in
            chain = chain ?? path
            return chain ?? path
        }
    }

    /// Checks signatures, dates, purpose and constraints up to an authority; throws why they do not hold.
    ///
    /// The host is not looked at. The answer for the trust's own `authorities` is computed once.
    ///
    /// - Parameter anchors: certificates to take as authorities in the place of `authorities`; they need not be roots.
    /// - Returns: the verified chain, the leaf first; an authority is in it, and above that one what the server sent.
    @discardableResult
    public func evaluateChain(anchors: [Certificate]? = nil) throws(TrustFailure) -> [Certificate] {
        guard let anchors else { return try standardVerdict.get() }
        return try Self.verify(presentedCertificates, against: .certificates(anchors), rules: rules)
    }

    /// Checks that the leaf is for `host` (RFC 9110 §4.3.4); throws `TrustFailure.hostMismatch`.
    public func evaluateHost(_ host: String) throws(TrustFailure) {
        guard let leaf = presentedCertificates.first else { throw .noCertificate }
        guard leaf.isValid(forHost: host) else {
            throw .hostMismatch(host: host, names: leaf.subjectAlternativeNames)
        }
    }

    private var standardVerdict: Result<[Certificate], TrustFailure> {
        if let known = verdict.withLock({ $0 }) { return known }
        let fresh = Result { () throws(TrustFailure) -> [Certificate] in
            try Self.verify(presentedCertificates, against: authorities, rules: rules)
        }
        return verdict.withLock { verdict in
            verdict = verdict ?? fresh
            return verdict ?? fresh
        }
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
            case .failure(let failure): "not trusted: \(failure)"
            }
        return "Trust of \(host), \(verdict)" + presentedCertificates.map { "\n\($0.debugDescription)" }.joined()
    }
}
