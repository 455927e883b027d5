// Trust decisions of a session.

public import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// Evaluates servers for one session: by the delegate if it is a subclass, otherwise by the trust manager or, without a
/// manager, by the certificate authorities.
final class SessionTrust: Sendable {
    let manager: ServerTrustManager?
    /// The name for rules without a name; every session has a different one.
    let ownPartition = "session \(UUID.random())"
    private let delegate: SessionDelegate
    private let owner = Mutex<@Sendable () -> SessionCore?>({ nil })
    /// The canonical hosts that the delegate has accepted without a check by the library.
    ///
    /// Kept while the session lives, since the connections to these hosts may be reused.
    private let unchecked = Mutex<Set<String>>([])
    /// The client identities that the delegate gave, by canonical host.
    private let identities = Mutex<[String: ClientIdentity]>([:])

    init(_ manager: ServerTrustManager?, _ delegate: SessionDelegate) {
        self.manager = manager
        self.delegate = delegate
    }

    /// Sets the session's core, which is made after this object.
    func attach(_ core: SessionCore) {
        owner.withLock { $0 = { [weak core] in core } }
    }

    /// Whether a decision can depend on the authorities.
    var usesAuthorities: Bool { delegate.isSubclass || manager?.usesAuthorities ?? true }

    /// Whether the delegate may give client identities.
    var mayGiveIdentities: Bool { delegate.isSubclass }

    /// Whether servers of a host are accepted only after a check of their identity.
    ///
    /// If the delegate accepted a server, it is unknown whether the delegate checked the server's identity.
    func checksIdentity(ofHost host: String) -> Bool {
        guard manager?.checksIdentity(ofHost: host) ?? true else { return false }
        return !delegate.isSubclass || !unchecked.withLock { $0.contains(CanonicalHost.text(of: host)) }
    }

    /// The name of the delegate's trust rules, for caches; `nil` for a delegate that is not a subclass.
    ///
    /// A delegate that does not name its rules shares no stored responses: another object of its class may have other
    /// rules.
    var delegatePartition: String? {
        delegate.isSubclass ? "delegate \(delegate.cachePartition ?? ownPartition)" : nil
    }

    /// The rules for the transport; `nil` when only the certificate authorities decide.
    ///
    /// The decision of a delegate may wait: its completion handler may be called later.
    var rules: ServerTrustRules? {
        if delegate.isSubclass {
            return ServerTrustRules(mayWait: { _ in true }, identity: identity(forHost:)) { [self] in
                try askDelegate($0)
            }
        }
        return manager.map { ServerTrustRules(mayWait: $0.mayWait(forHost:), decide: $0.decide) }
    }

    private func decideByDefault(_ trust: ServerTrust) throws {
        if let manager { return try manager.decide(trust) }
        try trust.evaluateByAuthorities()
    }

    private func askDelegate(_ trust: ServerTrust) throws {
        // If no request waits for the connection any more, there is no task to ask the delegate about. The server is
        // refused, since the delegate might have refused it.
        guard let core = owner.withLock({ $0 })(), let attempt = core.attempt(waitingFor: trust) else {
            throw Self.refusal
        }
        let answer = ask(NSURLAuthenticationMethodServerTrust, about: trust, for: attempt)
        switch answer?.disposition {
        case .useCredential where answer?.credential != nil:
            unchecked.withLock { _ = $0.insert(CanonicalHost.text(of: trust.host)) }
        case .useCredential, .performDefaultHandling: try decideByDefault(trust)
        case .cancelAuthenticationChallenge: throw URLError(.cancelled)
        default: throw Self.refusal
        }
        // The delegate is asked even if the server has not requested a certificate.
        let identity = ask(NSURLAuthenticationMethodClientCertificate, about: trust, for: attempt)
        switch identity?.disposition {
        case .useCredential:
            let given = (identity?.credential as? ClientIdentityCredential)?.identity
            identities.withLock { $0[CanonicalHost.text(of: trust.host)] = given }
        case .cancelAuthenticationChallenge: throw URLError(.cancelled)
        default: break
        }
    }

    /// The identity that the delegate gave for a host when the delegate trusted the server.
    private func identity(forHost host: String) -> ClientIdentity? {
        identities.withLock { $0[CanonicalHost.text(of: host)] }
    }

    /// Asks the delegate on the session's root queue, and waits for its answer.
    private func ask(_ method: String, about trust: ServerTrust, for attempt: Attempt) -> ChallengeAnswer? {
        let answer = AwaitedAnswer<ChallengeAnswer>()
        let core = attempt.core
        core.arguments.rootQueue.async { [delegate] in
            let space = TrustSpace(trust, method: method)
            let challenge = URLAuthenticationChallenge(
                protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
                error: nil, sender: InertChallengeSender())
            delegate.urlSession(core.urlSession, task: attempt.sessionTask, didReceive: challenge) {
                answer.give(ChallengeAnswer(disposition: $0, credential: $1))
            }
        }
        return answer.wait()
    }

    private static var refusal: AFError {
        .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: URLError(.userCancelledAuthentication)))
    }
}

extension SessionCore {
    /// An attempt that may be waiting for the connection whose server is evaluated.
    fileprivate func attempt(waitingFor trust: ServerTrust) -> Attempt? {
        let host = CanonicalHost.text(of: trust.host)
        return registry.attempts.first { attempt in
            guard let url = attempt.awaitedURL else { return false }
            return ["https", "wss"].contains(url.scheme) && url.effectivePort == Int(trust.port ?? 443)
                && url.host.map { CanonicalHost.withoutZone(CanonicalHost.text(of: $0)) } == host
        }
    }
}

/// The protection space of a TLS server: for its certificates, or for the client certificate that it may request.
final class TrustSpace: URLProtectionSpace, @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.
    let trust: ServerTrust

    init(_ trust: ServerTrust, method: String) {
        self.trust = trust
        super.init(
            host: trust.host, port: Int(trust.port ?? 443), protocol: "https", realm: nil, authenticationMethod: method)
    }

    @available(*, unavailable)
    required init?(coder: NSCoder) {
        nil
    }
}

/// The authentication method of a challenge that asks whether a server is trusted; Foundation on Linux has only the
/// name.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// The authentication method of a challenge that asks for the client's certificate; Foundation on Linux has only the
/// name.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"

/// A credential with a certificate and its private key, for the challenge `NSURLAuthenticationMethodClientCertificate`.
public final class ClientIdentityCredential: URLCredential, @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.

    /// The certificate and the key.
    public let identity: ClientIdentity

    /// Makes a credential of an identity.
    public init(_ identity: ClientIdentity) {
        self.identity = identity
        super.init(user: "", password: "", persistence: .none)
    }

    /// Always `nil`: an identity cannot be archived.
    public required init?(coder: NSCoder) {
        nil
    }
}

extension URLProtectionSpace {
    /// The certificates of the TLS server that a challenge is about; `nil` for challenges of HTTP.
    public var serverTrust: ServerTrust? { (self as? TrustSpace)?.trust }
}

extension URLCredential {
    /// A credential that accepts the server.
    public convenience init(trust: ServerTrust) {
        self.init(user: "", password: "", persistence: .none)
    }
}
