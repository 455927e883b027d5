// The verdict about one peer, from its chain to the session's word.

import Dispatch
import Foundation

/// Judges the peer of one TLS connection by one rule.
///
/// It lives on the loop's thread. A rule that may wait runs on another one, and the loop goes on. A handshake cannot stand
/// still meanwhile: libcurl 7.88 knows nothing of `SSL_set_retry_verify(3)`. So the first handshake brings what there is to
/// judge and is given up, before a byte of the request has left; once there is a verdict, another one is made, and the
/// verdict holds for it if the peer shows the same certificates.
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
        case decided([Certificate], Result<Void, any Error>)
        case accepted
        case refused
    }

    private let rule: Rule
    private let loop: EventLoop
    /// Hears why the peer is refused, once.
    private let refuse: (any Error) -> Void
    /// Hears that another handshake can be made.
    private let decided: () -> Void
    private var state = State.open
    private var roundCount = 0

    /// A peer that shows other certificates each time is not waited for any longer.
    private static let roundLimit = 4

    init(rule: Rule, loop: EventLoop, refuse: @escaping (any Error) -> Void, decided: @escaping () -> Void) {
        self.rule = rule
        self.loop = loop
        self.refuse = refuse
        self.decided = decided
    }

    /// Whether the rule may wait.
    var mayWait: Bool { rule.mayWait }

    /// Whether the handshake failed only because the verdict is still to come, or has come since.
    var wantsAnotherHandshake: Bool {
        switch state {
        case .deciding, .decided: true
        case .open, .provisional, .accepted, .refused: false
        }
    }

    /// Whether the verdict for another handshake is there.
    var isDecided: Bool {
        if case .decided = state { true } else { false }
    }

    /// Whether a request may leave: not while the verdict is still to come.
    var isSettled: Bool {
        switch state {
        case .open, .accepted, .refused: true  // never asked, when the TLS session was resumed
        case .provisional, .deciding, .decided: false
        }
    }

    func judge(_ evidence: PeerEvidence) -> PeerVerdict {
        guard rule.mayWait else { return decideNow(evidence) }
        guard !evidence.mayStapleLater else {
            if case .decided(let known, _) = state, known == evidence.chain { return .accepted }
            state = .provisional(evidence.chain)
            return .accepted
        }
        return verdict(on: evidence.chain, status: evidence.stapledStatus)
    }

    func accepts(status: Data?) -> Bool {
        switch state {
        case .provisional(let chain): verdict(on: chain, status: status) == .accepted
        case .decided(let chain, _): verdict(on: chain, status: status) == .accepted
        case .accepted: true
        case .open, .deciding, .refused: false
        }
    }

    /// The verdict that is there for these certificates; otherwise it is asked for, and this handshake is given up.
    private func verdict(on chain: [Certificate], status: Data?) -> PeerVerdict {
        if case .decided(chain, let outcome) = state { return settle(outcome) }
        guard roundCount < Self.roundLimit else { return settle(.failure(ChangingPeer())) }
        roundCount += 1
        state = .deciding(chain)
        decideElsewhere(makeTrust(chain, status: status))
        return .givenUp
    }

    private func makeTrust(_ chain: [Certificate], status: Data?) -> ServerTrust {
        ServerTrust(certificates: chain, host: rule.host, authorities: rule.authorities, stapledStatus: status)
    }

    private func decideNow(_ evidence: PeerEvidence) -> PeerVerdict {
        let trust = makeTrust(evidence.chain, status: evidence.stapledStatus)
        return settle(Result { try rule.decide(trust) })
    }

    private func decideElsewhere(_ trust: ServerTrust) {
        let reference = LoopReference(self)
        let (rule, loop) = (rule, loop)
        DispatchQueue.global().async {
            let outcome = Result { try rule.decide(trust) }
            loop.post { _ in reference.value.take(outcome, about: trust.presentedCertificates) }
        }
    }

    private func take(_ outcome: Result<Void, any Error>, about chain: [Certificate]) {
        state = .decided(chain, outcome)
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
