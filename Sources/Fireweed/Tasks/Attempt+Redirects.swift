// What becomes of a response that asks for another place.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt {
    /// What RFC 9110 §15.4 says about this response, or `nil` when it is no redirect.
    func redirect(
        after head: ResponseHead, _ owner: any AttemptOwner
    ) -> Result<Hop, TransferFailure>? {
        let (hop, count) = state.withLock { ($0.hop, $0.records.count(where: \.isRedirect)) }
        let handler = owner.effectiveRedirectHandler
        let limit = handler?.maximumRedirectCount ?? core.settings.maximumRedirectCount
        return Redirection.next(
            after: hop, head: head, redirectCount: count, limit: limit,
            credentialFieldNames: handler?.credentialFieldNames ?? core.settings.credentialFieldNames)
    }

    func decide(
        _ decision: Result<Hop, TransferFailure>, by handler: (any RedirectHandler)?, response: ResponseHead
    ) {
        switch decision {
        case .failure(let failure): cancel(with: failure)
        case .success(let next):
            state.withLock { $0.owner }?.attempt(self, willRedirectTo: next)
            guard let handler else {
                return leave(for: next)
            }
            handle(.asks)
            core.rootQueue.async { [self] in
                guard let response = httpURLResponse else { return cancel() }
                let proposed = Redirection.urlRequest(of: next)
                let settle = firstOnly { [self] request in settleRedirect(request, proposed: proposed, next: next) }
                handler.task(sessionTask, willBeRedirectedTo: proposed, for: response, completion: settle)
            }
        }
    }

    private func settleRedirect(_ request: URLRequest?, proposed: URLRequest, next: Hop) {
        guard let request else {
            guard let head = state.withLock({ $0.head }) else { return allow() }
            return showResponse(head)
        }
        let chosen: Hop
        do {
            // Equality of requests leaves the fields out on Linux.
            let isSame = request == proposed && request.allHTTPHeaderFields == proposed.allHTTPHeaderFields
            chosen = isSame ? next : try Redirection.hop(for: request, replacing: next, settings: core.settings)
        } catch {
            return cancel(with: .exchange(.badURL, detail: "the redirect handler's request has no URL", engineCode: 0))
        }
        leave(for: chosen)
    }

    /// Takes the response that was being decided about for the final one.
    func showResponse(_ head: ResponseHead) {
        guard let owner = state.withLock({ $0.owner }), owner.wantsHead else { return allow() }
        // A redirect or a challenge is an answer of another kind than a download goes on with: nobody asks for it again.
        if case .wait = owner.attempt(self, didReceive: head) { return }
        allow()
    }
}
