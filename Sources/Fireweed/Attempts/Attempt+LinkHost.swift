// What links ask of an attempt.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt: LinkHost {
    private var owner: (any AttemptOwner)? { state.withLock { $0.owner } }

    var handlesCookies: Bool { record.existing?.httpShouldHandleCookies ?? true }

    var mainDocument: URL? { record.existing?.mainDocumentURL }

    var redirectHandler: (any RedirectHandler)? { owner?.effectiveRedirectHandler }

    /// Downloads are answered by the cache, and not stored: their content is in a file already.
    var storingWishes: StoringWishes {
        guard kind != .download else { return StoringWishes(stores: false) }
        return StoringWishes(asks: kind != .webSocket && owner?.asksAboutStoring == true)
    }

    /// Who decides what is stored, or is told of it; `nil` for nobody.
    var storingDecision: StoringDecision? { owner?.storingDecision(for: self) }

    /// The task as a `CachedResponseHandler` gets it.
    var storingTask: URLSessionDataTask? { sessionTask as? URLSessionDataTask }

    func announceRedirect(to next: OutgoingMessage) {
        owner?.attempt(self, willRedirectTo: next)
    }

    func announceChallenge(_ head: ResponseHead, to message: OutgoingMessage) {
        owner?.attempt(self, didReceiveChallenge: head)
    }

    func announceWaitForRoute() {
        owner?.attemptWaitsForConnectivity(self)
    }

    func refresh(_ message: OutgoingMessage, about stored: StoredResponse, in cache: ResponseCache) {
        guard cache.beginRefresh(of: message.url) else { return }
        var message = message
        message.cacheUse = .refreshing(stored)
        let owner = RefreshOwner(
            cache: cache, url: message.url, asksAboutStoring: storingWishes.asks, decision: storingDecision)
        Attempt(record: record, message: message, kind: kind, core: core, owner: owner).resume()
    }
}

/// Stands for the request of an attempt that asks about a stored response which is used already.
private final class RefreshOwner: AttemptOwner {
    private let cache: ResponseCache
    private let url: URL
    let asksAboutStoring: Bool
    private let decision: StoringDecision?

    init(cache: ResponseCache, url: URL, asksAboutStoring: Bool, decision: StoringDecision?) {
        self.cache = cache
        self.url = url
        self.asksAboutStoring = asksAboutStoring
        self.decision = decision
    }

    var wantsHead: Bool { false }
    var gathersContent: Bool { false }
    var links: [any Link] { [] }
    /// What another URL answers is not about the stored response.
    var effectiveRedirectHandler: (any RedirectHandler)? { Redirector.doNotFollow }

    func storingDecision(for attempt: Attempt) -> StoringDecision? { decision }

    func attempt(_ attempt: Attempt, didReceive head: ResponseHead) -> HeadDisposition { .proceed }
    func attempt(_ attempt: Attempt, didReceiveChallenge head: ResponseHead) {}
    func attempt(_ attempt: Attempt, didReceive challenge: ShownChallenge) {}
    func attempt(_ attempt: Attempt, willRedirectTo next: OutgoingMessage) {}
    func attempt(_ attempt: Attempt, didReceive bytes: UnsafeRawBufferPointer) -> Intake { .wantsMore }
    func attemptDidReachLull(_ attempt: Attempt) {}
    func attempt(_ attempt: Attempt, didSend byteCount: Int, total: Int64, expected: Int64?) {}
    func attemptWaitsForConnectivity(_ attempt: Attempt) {}

    func attemptDidComplete(_ attempt: Attempt, failure: TransferFailure?) {
        attempt.doChores()
        // Behind what has yet to be stored: who looks before that finds the old response, and must not ask once more.
        cache.queue.async { [cache, url] in cache.endRefresh(of: url) }
    }
}
