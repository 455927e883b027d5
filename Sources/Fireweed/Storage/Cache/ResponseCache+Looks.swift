// Look-ups in a session's cache.

import FireweedTransport
import Foundation

/// The result of a look-up in the cache.
struct CacheFinding: Sendable {
    /// What to do about the request.
    let decision: CacheDecision
    /// The stored response that the decision is about.
    let stored: StoredResponse?
    /// When the request is sent; taken after the look-up.
    let moment: ResponseCache.Moment
    /// Who fetches a missing response.
    let fetch: ResponseLookup.Fetch
}

extension ResponseCache {
    /// Whether look-ups go to an asynchronous store.
    var isRemote: Bool { if case .remote = backing { true } else { false } }

    /// Returns the decision about a request; called on the queue, and only with a synchronous store.
    func finding(for request: CacheQuery) -> CacheFinding {
        finding(for: request, ResponseLookup(response: needsLook(request) ? localResponse(for: request) : nil))
    }

    /// Looks up a request in an asynchronous store, and calls `body` on the queue with the decision.
    ///
    /// `claimsFetch`: whether a miss may claim the fetch in the store, so that other processes wait for this request's
    /// response.
    func look(for request: CacheQuery, claimsFetch: Bool, _ body: @escaping @Sendable (CacheFinding) -> Void) {
        guard needsLook(request) else {
            queue.async { body(self.finding(for: request, ResponseLookup())) }
            return
        }
        select(for: request, claimsFetch: claimsFetch) { body(self.finding(for: request, $0)) }
    }

    /// Calls `body` on the queue with the stored response for a request, fresh or stale.
    func select(for request: CacheQuery, _ body: @escaping @Sendable (StoredResponse?) -> Void) {
        select(for: request, claimsFetch: false) { body($0.response) }
    }

    /// Calls `body` on the queue when another process may have fetched the missing response, or the time limit has
    /// expired.
    func waitForFetch(of request: CacheQuery, _ body: @escaping @Sendable () -> Void) {
        guard case .remote(let calls) = backing else { return queue.async(execute: body) }
        let key = request.key.text
        calls.call(within: calls.fetchLimit) { store in
            try await store.waitForFetch(of: key)
        } completion: { [queue] _ in
            queue.async(execute: body)
        }
    }

    /// Returns the leader of a fetch that other processes wait for.
    func claimedLead(of request: CacheQuery) -> FetchLeader {
        let key = request.key.text
        return FetchLeader { outcome in
            let isShareable = if case .unshared = outcome { false } else { true }
            // The change is queued after the write of the response, so that the waiting processes find the response.
            self.change { try await $0.endFetch(of: key, isShareable: isShareable) }
        }
    }

    private func finding(for request: CacheQuery, _ lookup: ResponseLookup) -> CacheFinding {
        CacheFinding(
            decision: ReuseRules.decide(request, stored: lookup.response?.head, now: now()), stored: lookup.response,
            moment: moment(after: lookup.revision), fetch: lookup.fetch)
    }

    /// Looks up a response for a request; a store that fails or exceeds its time limit counts as empty.
    private func select(
        for request: CacheQuery, claimsFetch: Bool, _ body: @escaping @Sendable (ResponseLookup) -> Void
    ) {
        switch backing {
        case .direct:
            queue.async { body(ResponseLookup(response: self.localResponse(for: request))) }
        case .remote(let calls):
            let selection = selection(for: request)
            guard selection.needsStore else {
                queue.async { body(ResponseLookup(response: selection.arriving)) }
                return
            }
            let claims = claimsFetch && selection.arriving == nil
            calls.call(within: calls.lookLimit) { store in
                try await store.lookUp(selection.key, claimsFetch: claims, choosing: { selection.choose($0) })
            } completion: { [queue] found in
                var lookup = found ?? ResponseLookup()
                lookup.response = selection.merged(with: lookup.response)
                if !claims || lookup.response != nil { lookup.fetch = .unclaimed }
                queue.async { [lookup] in body(lookup) }
            }
        }
    }

    /// The response for a request in a synchronous store or its pending writes; called on the queue.
    private func localResponse(for request: CacheQuery) -> StoredResponse? {
        let selection = selection(for: request)
        guard selection.needsStore, case .direct(let store) = backing else { return selection.arriving }
        return selection.merged(with: try? store.response(for: selection.key, choosing: selection.choose))
    }
}
