// HTTP authentication in the chain.

import FireweedTransport
import Foundation
import FoundationNetworking

/// Adds credentials to messages, and answers challenges of origins (RFC 9110 §11).
///
/// Basic and Digest are answered here. The transport answers NTLM and Negotiate, which authenticate a connection, and
/// all challenges of proxies.
final class AuthenticationLink: Link {
    let credentials: CredentialSource
    /// Nonces that origins have accepted, which later messages use without waiting for a challenge.
    private let digests = DigestSessions()

    init(credentials: CredentialSource) {
        self.credentials = credentials
    }

    var interest: HeadInterest { HeadInterest(statusClass: 4) }

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        if credentials.concerns(exchange.urlText) {
            if let violation = credentials.violation(in: exchange.message) { return .fail(violation) }
            exchange.changeMessage { $0 = credentials.completing($0) }
        }
        if exchange.mayReuseDigest, exchange.digest != nil || !digests.isEmpty {
            let digest = exchange.message.reusedDigest(of: digests)
            exchange.changeMessage { $0.digest = digest }
        }
        if let digest = exchange.digest { exchange.fields = digest.authorizing(exchange.fields) }
        if exchange.answeredChallenge != nil { exchange.awaitsHead = true }
        return .pass
    }

    func receive(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        guard head.status == 401 || head.status == 407 else {
            remember(exchange.message, acceptedAfter: exchange.answeredChallenge)
            return .pass
        }
        if head.status == 401, let digest = exchange.digest, let space = exchange.message.digestSpace {
            digests.forget(digest.use, in: space)
        }
        host.announceChallenge(head, to: exchange.message)
        guard head.status == 401 else { return .pass }
        if let question = host.delegateAnswer(to: head, of: exchange.message) {
            let message = exchange.message
            return .deferred(
                DeferredDecision { resume in
                    question { answer in resume { _ in self.decision(answer, to: head, of: message) } }
                })
        }
        return again(answer(to: head, of: exchange.message), after: head)
    }

    private func decision(_ answer: ChallengeAnswer, to head: ResponseHead, of message: OutgoingMessage) -> Decision {
        switch answer.disposition {
        case .cancelAuthenticationChallenge: return .fail(.taskCancelled)
        case .useCredential:
            guard let credential = answer.credential else { return .pass }
            return again(credentials.answering(HTTPChallenge.all(in: head), to: message, by: credential), after: head)
        case .performDefaultHandling: return again(self.answer(to: head, of: message), after: head)
        case .rejectProtectionSpace: return .pass
        @unknown default: return .pass
        }
    }

    /// Returns the message with credentials for the challenge; `nil` when there are none: the 401 is then the response.
    ///
    /// Credentials that the message carried have been refused by the challenge: they are not sent a second time.
    private func answer(to head: ResponseHead, of message: OutgoingMessage) -> OutgoingMessage? {
        let challenges = HTTPChallenge.all(in: head)
        return message.answering(challenges) ?? credentials.answering(challenges, to: message)
    }

    private func again(_ next: OutgoingMessage?, after head: ResponseHead) -> Decision {
        guard var next else { return .pass }
        next.challenge = head
        return .again(next)
    }

    /// Stores the request's credential, and the nonce of its Digest answer, after the origin has accepted them.
    private func remember(_ message: OutgoingMessage, acceptedAfter challenge: ResponseHead?) {
        if let digest = message.digest, let space = message.digestSpace { digests.accept(digest.use, in: space) }
        guard let credential = message.remembered, let challenge, challenge.status == 401 else { return }
        credentials.remember(credential, for: HTTPChallenge.all(in: challenge), of: message.url)
    }
}
