// Challenges inside an attempt: an answer adds a hop.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt {
    func transferDidAnswerChallenge(_ head: ResponseHead) {
        let owner = state.withLock { state in
            state.answeredChallenge = head
            return state.owner
        }
        owner?.attempt(self, didReceiveChallenge: head)
    }

    /// The present hop again, with credentials that were found for the challenge; `nil` when the 401 is the response.
    ///
    /// Credentials that the message already carried have been refused with it: they are not sent a second time.
    func hop(answering head: ResponseHead) -> Hop? {
        let hop = state.withLock { $0.hop }
        let challenges = HTTPChallenge.all(in: head)
        var next = hop.answering(challenges) ?? core.credentials.answering(challenges, to: hop)
        next?.challenge = head
        return next
    }

    /// Stores the request's credential when the origin has taken it in answer to a challenge.
    func rememberCredential(acceptedWith head: ResponseHead) {
        guard head.status != 401, head.status != 407 else { return }
        let (hop, challenge) = state.withLock { ($0.hop, $0.answeredChallenge) }
        guard let credential = hop.remembered, let challenge, challenge.status == 401 else { return }
        core.credentials.remember(credential, for: HTTPChallenge.all(in: challenge), of: hop.url)
    }
}
