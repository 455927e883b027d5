// The steps of one message in the cache.

import Dispatch
import FireweedTransport
import Foundation

/// The steps of one message in the cache: the look-up, the wait for other processes, and the decision by the rules.
struct CacheWalk: Sendable {
    private let query: CacheQuery
    private let host: any LinkContext
    private let cache: ResponseCache

    init(_ query: CacheQuery, for host: any LinkContext, in cache: ResponseCache) {
        (self.query, self.host, self.cache) = (query, host, cache)
    }

    // MARK: Out

    func begin(_ exchange: inout ChainContext) -> Decision {
        switch exchange.cacheUse {
        case .byRules: return cache.needsLook(query) || !query.mayAsk ? look() : fetch(.nothing(cache), &exchange)
        case .unconditional(let revision): return ask(about: nil, after: revision, &exchange)
        case .refreshing(let stored, let revision): return ask(about: stored, after: revision, &exchange)
        }
    }

    /// Looks up a stored response, and acts on the result.
    private func look() -> Decision {
        guard cache.isRemote else {
            return .deferred(on: cache.queue) { act(on: cache.finding(for: query), &$0) }
        }
        let claims = CoalescedFetches.Key.isPossible(for: query) && host.storingPolicy.mayLead
        return .deferred(
            DeferredDecision { resume in
                cache.look(for: query, claimsFetch: claims) { finding in resume { act(on: finding, &$0) } }
            })
    }

    /// Called on the cache's queue.
    private func act(on finding: CacheFinding, _ exchange: inout ChainContext) -> Decision {
        switch finding.decision {
        case .answer(_, let refreshes):
            guard let stored = finding.stored else { break }
            if refreshes {
                var message = exchange.message
                message.cacheUse = .refreshing(stored, revision: finding.moment.revision)
                host.refresh(message, for: query.key, in: cache)
            }
            exchange.lead?.end(.stored)
            return .answer(answer(stored, since: exchange.fetchWait?.start))
        case .validate, .fetch: break
        case .gatewayTimeout:
            return .answer(LocalAnswer(.gatewayTimeout(at: cache.now()), Data(), source: .notSent, on: cache.queue))
        case .fail:
            exchange.isUnsent = true
            return .fail(.exchange(.resourceUnavailable, detail: "nothing is stored for this request", engineCode: 0))
        }
        return fetch(finding, &exchange)
    }

    /// Sends the message, unless the origin has just failed for an equal message, or another process fetches the
    /// response.
    private func fetch(_ finding: CacheFinding, _ exchange: inout ChainContext) -> Decision {
        if let decision = decision(after: exchange.originFailure, finding, &exchange) { return decision }
        switch finding.fetch {
        case .unclaimed: break
        case .claimed:
            let (own, claim) = (exchange.lead, cache.claimedLead(of: query))
            exchange.lead = FetchLeader { outcome in
                own?.end(outcome)
                claim.end(outcome)
            }
        case .elsewhere:
            if let decision = waitElsewhere(&exchange) { return decision }
        }
        let stored = if case .validate = finding.decision { finding.stored } else { StoredResponse?.none }
        exchange.ask(
            CacheLookup(query, stored: stored, toleratesError: finding.toleratesError),
            at: cache.moment(after: finding.moment.revision), for: host)
        return .pass
    }

    /// The decision after the origin's failure for an equal request; `nil` when the message is sent in spite of the
    /// failure.
    private func decision(
        after failure: OriginFailure?, _ finding: CacheFinding, _ exchange: inout ChainContext
    ) -> Decision? {
        let stale = finding.toleratesError ? finding.stored : nil
        switch (failure, stale) {
        case (nil, _), (.status, nil): return nil
        case (.status, let stale?): return .answer(answer(stale, since: exchange.fetchWait?.start))
        case (.transfer(let failure), let stale?) where failure.isOfNetwork:
            return .answer(answer(stale, since: exchange.fetchWait?.start))
        case (.transfer(let failure), _):
            exchange.isUnsent = true
            return .fail(failure)
        }
    }

    /// Waits for the fetch of another process, then repeats the look-up; `nil` when the request has waited long enough.
    ///
    /// One wait lasts for the store's `fetchTimeout` at most. After that, one of the waiting requests fetches the
    /// response, and the other requests continue to wait.
    private func waitElsewhere(_ exchange: inout ChainContext) -> Decision? {
        let wait = exchange.fetchWait ?? FetchWait(of: host, by: cache.clock)
        if let limit = wait.limit, limit.rest(by: cache.clock) == .zero { return nil }
        exchange.fetchWait = wait
        return .deferred(
            DeferredDecision { resume in
                cache.waitForFetch(of: query) { resume { _ in look() } }
            })
    }

    /// Sends the message to the origin, with conditions to validate `stored` if there is one.
    private func ask(
        about stored: StoredResponse?, after revision: UInt64?, _ exchange: inout ChainContext
    ) -> Decision {
        exchange.changeMessage { $0.cacheUse = .byRules }
        exchange.ask(
            CacheLookup(query, stored: stored, toleratesError: false), at: cache.moment(after: revision), for: host)
        return .pass
    }

    // MARK: Back

    /// The rule for storing the response.
    ///
    /// Nothing is stored when a delegate gave a client identity after the look-up: the look-up did not know for which
    /// user the response is.
    var storingPolicy: StoringPolicy {
        query.clientIdentity == cache.scope.clientIdentity(for: query.url)
            ? host.storingPolicy : StoringPolicy(stores: false)
    }

    /// Answers with the stored response that the origin has validated.
    func confirm(
        _ stored: StoredResponse, by head: ResponseHead, _ note: CacheNote, _ exchange: ChainContext
    ) -> Decision {
        // A 304 about another response does not validate the stored response: the message is sent again, without
        // conditions (RFC 9111 §4.3.4).
        guard RevalidationRules.isAbout(stored.head, head) else {
            var next = exchange.message
            next.cacheUse = .unconditional(revision: note.moment.revision)
            return .again(next)
        }
        let fresh = cache.freshen(
            stored, by: head, to: query, requestTime: note.moment.time, responseTime: cache.now())
        exchange.lead?.end(.stored)
        return .answer(answer(fresh, source: .revalidation))
    }

    /// Returns a stored response as the answer, with its `Age`.
    ///
    /// `start` is when the request began to wait for an equal request, in nanoseconds of the monotonic clock; `nil`
    /// means now.
    func answer(_ stored: StoredResponse, source: AnswerSource = .cache, since start: UInt64? = nil) -> LocalAnswer {
        // `Age` is the age of the stored response (RFC 9111 §4, §5.1).
        let age = Int(Freshness.age(of: stored.head, at: cache.now()))
        let head = stored.head.response.setting("Age", to: "\(age)")
        let content = query.method == "HEAD" ? Data() : stored.content
        return LocalAnswer(head, content, source: source, on: cache.queue, since: start)
    }
}

extension CacheFinding {
    /// The finding without a look-up: nothing is stored.
    fileprivate static func nothing(_ cache: ResponseCache) -> CacheFinding {
        CacheFinding(decision: .fetch, stored: nil, moment: cache.moment, fetch: .unclaimed)
    }

    /// Whether the stored response may replace an error of the origin.
    fileprivate var toleratesError: Bool {
        if case .validate(_, let toleratesError) = decision { toleratesError } else { false }
    }
}

extension LocalAnswer {
    /// An answer with this head and content, which are delivered on `queue`.
    fileprivate init(
        _ head: ResponseHead, _ content: Data, source: AnswerSource, on queue: DispatchQueue, since start: UInt64? = nil
    ) {
        let start = start ?? StoredPlayback.nanoseconds
        let playback = StoredPlayback(head, content: content, startNanoseconds: start)
        self.init(source: source) { StoredTransfer(playback, for: $0, on: queue) }
    }
}

extension ResponseHead {
    /// The answer to `only-if-cached` when nothing suitable is stored (RFC 9111 §5.2.1.7).
    fileprivate static func gatewayTimeout(at time: Date) -> ResponseHead {
        ResponseHead(
            status: 504,
            fields: [Field(name: "Date", value: HTTPDate.text(of: time)), Field(name: "Content-Length", value: "0")])
    }
}
