// Trust decisions of a session whose delegate is a subclass.

import FireweedTransport
import Foundation
public import FoundationNetworking
import Synchronization

/// Decides about servers for one session: asks its delegate, where that can decide, else its trust manager, else the authorities.
final class SessionTrust: Sendable {
    private struct WeakCore {
        weak var core: SessionCore?
    }

    private let manager: ServerTrustManager?
    private let delegate: SessionDelegate
    private let owner = Mutex(WeakCore())

    init(_ manager: ServerTrustManager?, _ delegate: SessionDelegate) {
        self.manager = manager
        self.delegate = delegate
    }

    /// The session's core is known only when its transport is made.
    func attach(_ core: SessionCore) {
        owner.withLock { $0.core = core }
    }

    /// What the transport asks; `nil` when the authorities decide alone.
    var decision: (@Sendable (ServerTrust) throws -> Void)? {
        if delegate.isSubclass { return { [self] in try askDelegate($0) } }
        return manager?.decide
    }

    /// Whether the decision about a host may wait; a delegate's completion handler may be called later.
    var mayWait: (@Sendable (String) -> Bool)? {
        if delegate.isSubclass { return { _ in true } }
        return manager?.mayWait(forHost:)
    }

    private func decideByDefault(_ trust: ServerTrust) throws {
        if let manager { return try manager.decide(trust) }
        try DefaultTrustEvaluator().evaluate(trust, forHost: trust.host)
    }

    private func askDelegate(_ trust: ServerTrust) throws {
        guard let core = owner.withLock({ $0.core }), let attempt = core.attempt(waitingFor: trust.host) else {
            return try decideByDefault(trust)
        }
        let answer = AwaitedAnswer<URLSession.AuthChallengeDisposition>()
        core.rootQueue.async { [delegate] in
            let space = TrustSpace(trust, port: attempt.state.withLock { $0.hop.url.effectivePort })
            let challenge = URLAuthenticationChallenge(
                protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
                error: nil, sender: SilentSender())
            delegate.urlSession(core.urlSession, task: attempt.sessionTask, didReceive: challenge) {
                answer.give($1 == nil && $0 == .useCredential ? .performDefaultHandling : $0)
            }
        }
        switch answer.wait() {
        case .useCredential: return
        case .performDefaultHandling: try decideByDefault(trust)
        case .cancelAuthenticationChallenge, .rejectProtectionSpace, nil: throw refusal(of: trust)
        @unknown default: throw refusal(of: trust)
        }
    }

    private func refusal(of trust: ServerTrust) -> AFError {
        .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: URLError(.userCancelledAuthentication)))
    }
}

extension SessionCore {
    /// An attempt that may be waiting for a connection to the host.
    fileprivate func attempt(waitingFor host: String) -> Attempt? {
        let attempts = registry.all.compactMap(\.lastAttempt)
        return attempts.first { attempt in
            attempt.state.withLock { state in
                state.phase == .running && state.head == nil
                    && state.hop.url.host.map(CanonicalHost.text) == CanonicalHost.text(of: host)
            }
        }
    }
}

/// The protection space of a server whose certificates are asked about.
final class TrustSpace: URLProtectionSpace, @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.
    let trust: ServerTrust

    init(_ trust: ServerTrust, port: Int) {
        self.trust = trust
        super.init(
            host: trust.host, port: port, protocol: "https", realm: nil,
            authenticationMethod: NSURLAuthenticationMethodServerTrust)
    }

    @available(*, unavailable)
    required init?(coder: NSCoder) {
        nil
    }
}

/// The authentication method of a challenge that asks whether a server is trusted; Foundation on Linux has only the name.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

extension URLProtectionSpace {
    /// The certificates of the server that a challenge for `NSURLAuthenticationMethodServerTrust` asks about; otherwise `nil`.
    public var serverTrust: ServerTrust? { (self as? TrustSpace)?.trust }
}

extension URLCredential {
    /// A credential that says that the server is trusted.
    public convenience init(trust: ServerTrust) {
        self.init(user: "", password: "", persistence: .none)
    }
}
