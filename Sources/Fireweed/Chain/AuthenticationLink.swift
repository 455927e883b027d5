// HTTP authentication in the chain.

import FireweedTransport
import Foundation
import FoundationNetworking

/// Gives messages their credentials, and answers challenges of origins (RFC 9110 §11).
///
/// Basic and Digest are answered here. NTLM and Negotiate belong to a connection, and a proxy's challenge to the way there:
/// both are the transport's.
struct AuthenticationLink: Link {
    let credentials: CredentialSource

    var interest: HeadInterest { HeadInterest(statusClass: 4) }

    func send(_ exchange: inout Exchange, for host: any LinkHost) -> Decision {
        if credentials.concerns(exchange.hop, urlText: exchange.urlText) {
            if let violation = credentials.violation(in: exchange.hop) { return .fail(violation) }
            exchange.changeMessage { $0 = credentials.completing($0) }
        }
        exchange.fields = exchange.hop.authorizing(exchange.fields)
        if exchange.answeredChallenge != nil { exchange.awaitsHead = true }
        return .pass
    }

    func receive(_ head: ResponseHead, in exchange: inout Exchange, for host: any LinkHost) -> Decision {
        guard head.status == 401 || head.status == 407 else {
            remember(exchange.hop, acceptedAfter: exchange.answeredChallenge)
            return .pass
        }
        host.announceChallenge(head, to: exchange.hop)
        guard head.status == 401 else { return .pass }
        if let question = host.delegateAnswer(to: head, of: exchange.hop) {
            let hop = exchange.hop
            return .wait(
                Wait { resume in
                    question { answer in resume { _ in decision(answer, to: head, of: hop) } }
                })
        }
        return again(answer(to: head, of: exchange.hop), after: head)
    }

    private func decision(_ answer: ChallengeAnswer, to head: ResponseHead, of hop: Hop) -> Decision {
        switch answer.disposition {
        case .cancelAuthenticationChallenge: return .fail(.taskCancelled)
        case .useCredential:
            guard let credential = answer.credential else { return .pass }
            return again(credentials.answering(HTTPChallenge.all(in: head), to: hop, by: credential), after: head)
        case .performDefaultHandling: return again(self.answer(to: head, of: hop), after: head)
        case .rejectProtectionSpace: return .pass
        @unknown default: return .pass
        }
    }

    /// The message again, with credentials that were found for the challenge; `nil` when the 401 is the response.
    ///
    /// Credentials that the message carried have been refused by the challenge: they are not sent a second time.
    private func answer(to head: ResponseHead, of hop: Hop) -> Hop? {
        let challenges = HTTPChallenge.all(in: head)
        return hop.answering(challenges) ?? credentials.answering(challenges, to: hop)
    }

    private func again(_ next: Hop?, after head: ResponseHead) -> Decision {
        guard var next else { return .pass }
        next.challenge = head
        return .again(next)
    }

    /// Stores the request's credential when the origin has taken it in answer to a challenge.
    private func remember(_ hop: Hop, acceptedAfter challenge: ResponseHead?) {
        guard let credential = hop.remembered, let challenge, challenge.status == 401 else { return }
        credentials.remember(credential, for: HTTPChallenge.all(in: challenge), of: hop.url)
    }
}
