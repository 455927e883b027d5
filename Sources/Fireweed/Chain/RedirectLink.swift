// Redirects in the chain.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// Follows redirects (RFC 9110 §15.4), as the handler of the request or the session decides.
final class RedirectLink: Link {
    let settings: SessionSettings
    /// The queue on which handlers are called.
    let queue: DispatchQueue

    init(settings: SessionSettings, queue: DispatchQueue) {
        self.settings = settings
        self.queue = queue
    }

    var interest: HeadInterest { HeadInterest(statusClass: 3) }

    func receive(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        guard RedirectRules.statuses.contains(head.status) else { return .pass }
        let handler = host.redirectHandler
        let next = Redirection.next(
            after: exchange.message, head: head, limit: limit(of: handler),
            credentialFieldNames: credentialFieldNames(of: handler))
        return next.map { decide(on: $0, by: handler, for: host) } ?? .pass
    }

    /// Decides about a redirect that a `URLProtocol` reports as a whole `URLRequest`.
    func decide(on request: URLRequest, after message: OutgoingMessage, for host: any LinkContext) -> Decision {
        let handler = host.redirectHandler
        let next = Redirection.next(
            after: message, to: request, limit: limit(of: handler),
            credentialFieldNames: credentialFieldNames(of: handler), settings: settings)
        return decide(on: next, by: handler, for: host)
    }

    private func limit(of handler: (any RedirectHandler)?) -> Int {
        handler?.maximumRedirectCount ?? settings.maximumRedirectCount
    }

    private func credentialFieldNames(of handler: (any RedirectHandler)?) -> [String] {
        handler?.credentialFieldNames ?? settings.credentialFieldNames
    }

    private func decide(
        on redirect: Result<Redirection.Proposal, TransferFailure>, by handler: (any RedirectHandler)?,
        for host: any LinkContext
    ) -> Decision {
        switch redirect {
        case .failure(let failure): return .fail(failure)
        case .success(let next):
            if handler == nil, let obstacle = next.obstacle { return .fail(obstacle) }
            host.announceRedirect(to: next.message)
            guard let handler else { return .again(next.message) }
            return .deferred(
                DeferredDecision { [self] resume in queue.async { self.ask(handler, about: next, for: host, resume) } })
        }
    }

    private func ask(
        _ handler: any RedirectHandler, about next: Redirection.Proposal, for host: any LinkContext,
        _ resume: @escaping DeferredDecision.Resume
    ) {
        guard let response = host.httpURLResponse else { return resume { _ in .fail(.cancelled) } }
        let proposed = Redirection.urlRequest(of: next.message)
        handler.task(host.sessionTask, willBeRedirectedTo: proposed, for: response) { [self] chosen in
            let decision = decision(of: handler, chosen, proposed: proposed, next: next)
            resume { _ in decision }
        }
    }

    /// Applies a handler's decision: without a request, the redirect itself is the response.
    private func decision(
        of handler: any RedirectHandler, _ chosen: URLRequest?, proposed: URLRequest, next: Redirection.Proposal
    ) -> Decision {
        guard let chosen else { return .pass }
        if let obstacle = next.obstacle, chosen.url == proposed.url { return .fail(obstacle) }
        if Redirection.isSame(chosen, proposed) { return .again(next.message) }
        do {
            return .again(
                try Redirection.message(
                    for: chosen, replacing: next.message, credentialFieldNames: credentialFieldNames(of: handler),
                    settings: settings))
        } catch {
            let hasNoURL = (error as? URLError)?.code == .unsupportedURL
            let reason = hasNoURL ? "It has no URL of HTTP." : error.localizedDescription
            let detail = "the redirect handler's request cannot be sent: \(reason)"
            return .fail(.exchange(.badURL, detail: detail, engineCode: 0))
        }
    }
}
