// The verdict about one peer, from its chain to the session's word.

import Foundation

/// Judges the peer of one TLS connection by one rule.
///
/// It lives on the loop's thread. A rule that may wait runs on another one, and the loop goes on. A handshake cannot
/// stand still meanwhile: libcurl 7.88 knows nothing of `SSL_set_retry_verify(3)`. So the first handshake brings what
/// there is to judge and is given up, before a byte of the request has left. When the rule accepts the peer, another
/// handshake is made, and the verdict holds for it if the peer shows the same certificates. The same happens when a
/// rule that was not known to wait turns out to need it (`ServerTrust.requestWaitingEvaluation()`).
///
/// A handshake that resumes a TLS session shows no certificates. It is accepted: only a handshake that this rule
/// accepted leaves a session behind, libcurl keeps sessions by host and port, and a pool's rules never change.
final class HandshakeJudge: PeerVerifier {
    /// How peers are judged.
    struct Rule: Sendable {
        /// The host that the connection is for.
        let host: String
        let authorities: CertificateAuthorities
        /// Whether `decide` may wait, and so must not run on the loop's thread.
        let mayWait: Bool
        /// Throws when the peer is not to be trusted.
        let decide: @Sendable (ServerTrust) throws -> Void

        /// Leaves it to the authorities, and checks the name.
        static let authoritiesAndName: @Sendable (ServerTrust) throws -> Void = { trust in
            try trust.evaluateChain()
            try trust.evaluateHost(trust.host)
        }
    }

    private enum State {
        case open
        /// The certificates are there, and the stapled status may come.
        case provisional([Certificate])
        case deciding([Certificate])
        /// The rule accepts these certificates, and another handshake can be made.
        case approved([Certificate])
        case accepted
        case refused
    }

    private let rule: Rule
    private let decisions: TrustDecisions
    private let loop: EventLoop
    /// Is told why the peer is refused, once.
    private let refuse: (any Error) -> Void
    /// Is told that a rule that may wait has decided, after `refuse` if it refuses the peer.
    private let decided: () -> Void
    private var state = State.open
    private var roundCount = 0

    /// A peer that shows other certificates each time is not waited for any longer.
    private static let roundLimit = 4

    init(
        rule: Rule, decisions: TrustDecisions, loop: EventLoop, refuse: @escaping (any Error) -> Void,
        decided: @escaping () -> Void
    ) {
        self.rule = rule
        self.decisions = decisions
        self.loop = loop
        self.refuse = refuse
        self.decided = decided
    }

    /// Whether the rule may wait.
    var mayWait: Bool { rule.mayWait }

    /// Whether the handshake failed only because the verdict is still to come.
    var awaitsVerdict: Bool {
        if case .deciding = state { true } else { false }
    }

    /// Whether the verdict that came accepts the peer, so that another handshake can be made.
    var isApproved: Bool {
        if case .approved = state { true } else { false }
    }

    /// Whether a request may leave: not while the verdict is still to come.
    ///
    /// With a verdict that accepts the peer, a request may also leave on a connection that was made for another
    /// transfer meanwhile, and that its own judge has accepted.
    var isSettled: Bool {
        switch state {
        // Open: never asked, since a TLS session of TLS 1.2 was resumed.
        case .open, .approved, .accepted, .refused: true
        case .provisional, .deciding: false
        }
    }

    func judge(_ evidence: PeerEvidence) -> PeerVerdict {
        guard rule.mayWait else { return decideNow(evidence) }
        guard !evidence.mayStapleLater else {
            if case .approved(evidence.chain) = state { return .accepted }
            state = .provisional(evidence.chain)
            return .accepted
        }
        return verdict(on: evidence.chain, status: evidence.stapledStatus)
    }

    func accepts(status: Data?, isResumed: Bool) -> Bool {
        switch state {
        case .open where isResumed, .approved where isResumed:
            state = .accepted
            return true
        case .provisional(let chain), .approved(let chain): return verdict(on: chain, status: status) == .accepted
        case .accepted: return true
        case .open, .deciding, .refused: return false
        }
    }

    /// The verdict that is there for these certificates; otherwise it is asked for, and this handshake is given up.
    private func verdict(on chain: [Certificate], status: Data?) -> PeerVerdict {
        if case .approved(chain) = state { return settle(.success(())) }
        guard roundCount < Self.roundLimit else { return settle(.failure(ChangingPeer())) }
        roundCount += 1
        state = .deciding(chain)
        decideElsewhere(makeTrust(chain, status: status, mayWait: true))
        return .givenUp
    }

    private func makeTrust(_ chain: [Certificate], status: Data?, mayWait: Bool) -> ServerTrust {
        ServerTrust(
            certificates: chain, host: rule.host, authorities: rule.authorities, rules: TrustRules(),
            stapledStatus: status, mayWait: mayWait)
    }

    private func decideNow(_ evidence: PeerEvidence) -> PeerVerdict {
        if case .approved(evidence.chain) = state { return settle(.success(())) }
        let trust = makeTrust(evidence.chain, status: evidence.stapledStatus, mayWait: false)
        let outcome = Result { try rule.decide(trust) }
        return trust.wantsToWait ? verdict(on: evidence.chain, status: evidence.stapledStatus) : settle(outcome)
    }

    private func decideElsewhere(_ trust: ServerTrust) {
        let reference = LoopReference(self)
        decisions.decide(trust, by: rule) { [loop] outcome, _ in
            loop.post { _ in reference.value.take(outcome, about: trust.presentedCertificates) }
        }
    }

    private func take(_ outcome: Result<Void, any Error>, about chain: [Certificate]) {
        switch outcome {
        case .success: state = .approved(chain)
        case .failure: _ = settle(outcome)
        }
        decided()
    }

    private func settle(_ outcome: Result<Void, any Error>) -> PeerVerdict {
        switch outcome {
        case .success:
            state = .accepted
            return .accepted
        case .failure(let error):
            state = .refused
            refuse(error)
            return .refused
        }
    }

    /// The peer showed other certificates in each of several handshakes.
    struct ChangingPeer: Error, CustomStringConvertible {
        var description: String { "the server shows other certificates each time" }
    }
}

/// Carries an object of the loop's through another thread, which does not look at it.
private struct LoopReference<Value: AnyObject>: @unchecked Sendable {
    // SAFETY: made on the loop's thread, and read there; its last reference may go elsewhere only with the judge's end,
    // whose closures hold their objects weakly.
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
