// The services that an attempt offers to its links.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt: LinkContext {
    private var owner: Owner? { state.withLock { $0.owner } }

    var handlesCookies: Bool { record.existing?.httpShouldHandleCookies ?? true }

    var idleTimeout: TimeInterval { core.settings.idleTimeout(of: record.existing) }

    var mainDocument: URL? { record.existing?.mainDocumentURL }

    var redirectHandler: (any RedirectHandler)? { owner?.redirectHandler }

    /// The policy for storing the response; a download's response is never stored, since its content is in a file.
    ///
    /// The cache may still answer a download.
    var storingPolicy: StoringPolicy {
        guard kind != .download else { return StoringPolicy(stores: false) }
        guard kind != .webSocket, let owner else { return StoringPolicy() }
        return StoringPolicy(asks: owner.asksAboutStoring, tells: owner.tellsOfStoring)
    }

    /// The closure that decides whether the response is stored; `nil` leaves the decision to the cache's rules.
    var storingDecision: StoringDecision? { owner?.storingDecision(for: self) }

    /// The task that a ``CachedResponseHandler`` gets.
    var storingTask: URLSessionDataTask? { sessionTask as? URLSessionDataTask }

    func announceRedirect(to next: OutgoingMessage) {
        owningRequest?.attempt(self, willRedirectTo: next)
    }

    func announceChallenge(_ head: ResponseHead, to message: OutgoingMessage) {
        owningRequest?.attempt(self, didReceiveChallenge: head)
    }

    func announceWaitForRoute() {
        owningRequest?.attemptWaitsForConnectivity(self)
    }

    func refresh(_ message: OutgoingMessage, for key: CacheKey, in cache: ResponseCache) {
        guard !core.registry.isDraining, cache.beginRefresh(of: key) else { return }
        let validation = BackgroundValidation(
            of: key, in: cache, asksAboutStoring: storingPolicy.asks, decision: storingDecision)
        let attempt = Attempt(
            record: record, message: message, kind: kind, core: core, owner: .validation(validation))
        core.registry.add(validation: attempt)
        attempt.resume()
    }
}
