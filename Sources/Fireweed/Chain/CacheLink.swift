// The response cache in the chain.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// The cache's state of an exchange, for the moment when the response comes.
struct CacheNote: Sendable {
    /// The result of the look-up; `nil` for most messages, since nothing is stored for them.
    let lookup: CacheLookup?
    /// When the message was sent to the origin.
    let moment: ResponseCache.Moment

    /// The stored response that replaces a failure of the origin (RFC 5861 §4).
    var staleAnswer: StoredResponse? { lookup.flatMap { $0.toleratesError ? $0.stored : nil } }
}

/// The result of a look-up in the cache.
final class CacheLookup: Sendable {
    /// The request as the cache sees it.
    let query: CacheQuery
    /// The stored response that is being validated.
    let stored: StoredResponse?
    /// Whether the stored response may replace an error (RFC 5861 §4).
    let toleratesError: Bool

    init(_ query: CacheQuery, stored: StoredResponse?, toleratesError: Bool) {
        self.query = query
        self.stored = stored
        self.toleratesError = toleratesError
    }
}

/// Answers messages with stored responses, and stores responses (RFC 9111).
///
/// A session without a cache has the link too: the cache policy of a request has effects without a cache.
struct CacheLink: Link {
    let cache: ResponseCache?

    /// The server errors that a stale response may replace (RFC 5861 §4).
    private static let toleratedStatuses: Set<Int> = [500, 502, 503, 504]

    var interest: HeadInterest {
        cache == nil ? HeadInterest() : HeadInterest(marks: .mayBeWorthStoring, statusClass: 3)
    }

    // MARK: Out

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        guard exchange.webSocket == nil else { return .pass }
        let policy = host.cachePolicy
        if policy != .useProtocolCachePolicy { exchange.fields = exchange.fields.adding(policy) }
        guard cache != nil || policy == .returnCacheDataDontLoad else { return .pass }
        let cache = cache ?? .none
        guard cache.scope.clientIdentity(for: exchange.url) != nil else {
            return send(&exchange, for: host, policy, cache)
        }
        // The look at an identity's file may wait for a disk.
        return .deferred(on: cache.queue) { send(&$0, for: host, policy, cache, hasIdentity: true) }
    }

    private func send(
        _ exchange: inout ChainContext, for host: any LinkContext, _ policy: URLRequest.CachePolicy,
        _ cache: ResponseCache, hasIdentity: Bool = false
    ) -> Decision {
        switch exchange.cacheUse {
        case .byRules:
            let facts = cache.facts(of: exchange.fields)
            let needsQuery =
                hasIdentity || cache.fetches != nil || facts.control.onlyIfCached || policy == .returnCacheDataDontLoad
            guard needsQuery || cache.mayHold(CacheKey(exchange.url, host: facts.host, in: cache.scope)) else {
                return ask(nil, of: &exchange, host, cache)
            }
            let query = CacheQuery(exchange, policy: policy, in: cache, facts: facts)
            guard cache.needsLook(query) || !query.mayAsk else {
                return fetch(CacheFinding(cache.moment), for: query, &exchange, host, cache)
            }
            return look(for: query, host, cache)
        case .unconditional:
            exchange.changeMessage { $0.cacheUse = .byRules }
            return ask(nil, of: &exchange, host, cache, CacheQuery(exchange, policy: policy, in: cache))
        case .refreshing(let stored):
            exchange.changeMessage { $0.cacheUse = .byRules }
            return ask(stored, of: &exchange, host, cache, CacheQuery(exchange, policy: policy, in: cache))
        }
    }

    /// Whether a request may still wait for the fetch of another one.
    private enum Waiting: Sendable {
        case allowed
        /// It waits for other processes, from a moment to another on the cache's clock: one of those that wait takes
        /// the fetch over when it does not end, and the others go on waiting.
        case elsewhere(from: UInt64, until: UInt64)
        /// It has waited: whatever is missing now, the request fetches alone.
        case over
    }

    /// Looks, and does what the rules say.
    ///
    /// `start` is when the request began to wait for another one, in nanoseconds of the monotonic clock.
    private func look(
        for query: CacheQuery, _ host: any LinkContext, _ cache: ResponseCache, waiting: Waiting = .allowed,
        since start: UInt64? = nil
    ) -> Decision {
        guard cache.isRemote else {
            return .deferred(on: cache.queue) { exchange in
                act(on: cache.finding(for: query), for: query, &exchange, host, cache, waiting: waiting, since: start)
            }
        }
        let claims = CoalescedFetches.Key.isPossible(for: query) && host.storingPolicy.mayLead
        return .deferred(
            DeferredDecision { resume in
                cache.look(for: query, claimsFetch: claims) { finding in
                    resume { exchange in
                        act(on: finding, for: query, &exchange, host, cache, waiting: waiting, since: start)
                    }
                }
            })
    }

    /// On the cache's queue.
    private func act(
        on finding: CacheFinding, for query: CacheQuery, _ exchange: inout ChainContext, _ host: any LinkContext,
        _ cache: ResponseCache, waiting: Waiting, since start: UInt64?
    ) -> Decision {
        switch finding.decision {
        case .answer(_, let refreshes):
            guard let stored = finding.stored else { break }
            if refreshes { host.refresh(exchange.message, about: stored, for: query.key, in: cache) }
            exchange.lead?.end(.stored)
            return answer(stored, to: query, source: .cache, in: cache, since: start)
        case .validate, .fetch: break
        case .gatewayTimeout:
            let head = ResponseHead.gatewayTimeout(at: cache.now())
            return .answer(LocalAnswer(head, Data(), source: .notSent, on: cache.queue))
        case .fail:
            let detail = "nothing is stored for this request"
            exchange.isUnsent = true
            return .fail(.exchange(.resourceUnavailable, detail: detail, engineCode: 0))
        }
        return fetch(finding, for: query, &exchange, host, cache, waiting: waiting)
    }

    // MARK: Fetches that requests share

    /// Sends the message, or waits for an equal one that has been sent.
    private func fetch(
        _ finding: CacheFinding, for query: CacheQuery, _ exchange: inout ChainContext, _ host: any LinkContext,
        _ cache: ResponseCache, waiting: Waiting = .allowed
    ) -> Decision {
        let claim = finding.fetch == .claimed ? cache.claimedLead(of: query) : nil
        if case .allowed = waiting, let fetches = cache.fetches,
            let key = CoalescedFetches.Key(query, idleTimeout: host.idleTimeout)
        {
            switch fetches.enter(key, mayLead: host.storingPolicy.mayLead) {
            case .leads(let lead): exchange.lead = lead
            // A request that others wait for in turn does not wait.
            case .waits(let waiter) where claim != nil: fetches.leave(key, waiter)
            case .waits(let waiter):
                return wait(for: waiter, in: fetches, key, finding, query, host, cache)
            case .alone: break
            }
        }
        if let claim {
            let own = exchange.lead
            exchange.lead = FetchLeader { outcome in
                own?.end(outcome)
                claim.end(outcome)
            }
        }
        if finding.fetch == .elsewhere, let decision = waitElsewhere(query, host, cache, waiting) { return decision }
        return ask(finding, of: &exchange, host, cache, query)
    }

    /// Waits for the fetch of another process, and looks again; `nil` when the request has waited long enough.
    ///
    /// One wait lasts for the store's `fetchTimeout` at most. All waits together last for as long as the request would
    /// wait for the origin's answer.
    private func waitElsewhere(
        _ query: CacheQuery, _ host: any LinkContext, _ cache: ResponseCache, _ waiting: Waiting
    ) -> Decision? {
        let now = cache.clock.monotonicNanoseconds
        let (start, next): (UInt64, Waiting)
        switch waiting {
        case .over: return nil
        case .elsewhere(let from, let end):
            guard now < end else { return nil }
            (start, next) = (from, waiting)
        case .allowed:
            let limit = limit(of: host, by: cache.clock)?.time.nanosecondCount ?? .max / 2
            start = StoredPlayback.nanoseconds
            next = .elsewhere(from: start, until: now &+ limit)
        }
        return .deferred(
            DeferredDecision { resume in
                cache.waitForFetch(of: query) {
                    resume { _ in look(for: query, host, cache, waiting: next, since: start) }
                }
            })
    }

    /// Waits for the response to an equal request, within the time that the request itself would have.
    private func wait(
        for waiter: FetchFollower, in fetches: CoalescedFetches, _ key: CoalescedFetches.Key, _ finding: CacheFinding,
        _ query: CacheQuery, _ host: any LinkContext, _ cache: ResponseCache
    ) -> Decision {
        let start = StoredPlayback.nanoseconds
        let limit = limit(of: host, by: cache.clock)
        return .deferred(
            DeferredDecision { resume in
                let call = limit.map { limit in
                    cache.clock.schedule(.limit, after: limit.time, on: cache.queue) { waiter.resolve(limit.outcome) }
                }
                waiter.wait { outcome in
                    call?.cancel()
                    fetches.leave(key, waiter)
                    cache.queue.async {
                        resume { exchange in
                            decision(after: outcome, finding, query, &exchange, host, cache, since: start)
                        }
                    }
                }
                return {
                    call?.cancel()
                    waiter.cancel()
                    fetches.leave(key, waiter)
                }
            })
    }

    private func decision(
        after outcome: FetchOutcome, _ finding: CacheFinding, _ query: CacheQuery, _ exchange: inout ChainContext,
        _ host: any LinkContext, _ cache: ResponseCache, since start: UInt64
    ) -> Decision {
        let stale = finding.toleratesError ? finding.stored : nil
        switch outcome {
        case .stored: return look(for: query, host, cache, waiting: .over, since: start)
        case .handedOver: return look(for: query, host, cache, since: start)
        case .unshared: return ask(finding, of: &exchange, host, cache, query)
        case .stale:
            guard let stale else { return ask(finding, of: &exchange, host, cache, query) }
            return answer(stale, to: query, source: .cache, in: cache, since: start)
        case .failed(let failure):
            if let stale, failure.isOfNetwork {
                return answer(stale, to: query, source: .cache, in: cache, since: start)
            }
            exchange.isUnsent = true
            return .fail(failure)
        case .outOfTime:
            exchange.isUnsent = true
            let detail = "an equal request was not answered within the time-out"
            return .fail(.exchange(.timedOut, detail: detail, engineCode: 0))
        }
    }

    /// How long a request waits for another one: until its own deadline, or, where nothing comes of the other request
    /// for as long as it would itself wait for a byte, until then.
    private func limit(of host: any LinkContext, by clock: any SessionClock) -> (time: Duration, outcome: FetchOutcome)?
    {
        let now = clock.monotonicNanoseconds
        let rest = host.deadlineNanoseconds.map { Duration.nanoseconds($0 > now ? Int64(clamping: $0 - now) : 0) }
        let idle = host.idleTimeout > 0 && host.idleTimeout < 1e9 ? Duration.seconds(host.idleTimeout) : nil
        if let rest, rest <= idle ?? rest { return (rest, .outOfTime) }
        return idle.map { ($0, .unshared) }
    }

    // MARK: To the origin

    /// Lets the message pass, with the conditions that ask about the stored response that was found, if it is stale.
    private func ask(
        _ finding: CacheFinding, of exchange: inout ChainContext, _ host: any LinkContext, _ cache: ResponseCache,
        _ query: CacheQuery
    ) -> Decision {
        guard case .validate = finding.decision else {
            return ask(nil, of: &exchange, host, cache, query, at: finding)
        }
        return ask(
            finding.stored, of: &exchange, host, cache, query, toleratesError: finding.toleratesError, at: finding)
    }

    /// Lets the message pass, with the conditions that validate the stored response if there is one.
    private func ask(
        _ stored: StoredResponse?, of exchange: inout ChainContext, _ host: any LinkContext, _ cache: ResponseCache,
        _ query: CacheQuery? = nil, toleratesError: Bool = false, at finding: CacheFinding? = nil
    ) -> Decision {
        if let stored { exchange.fields = RevalidationRules.fields(exchange.fields, asking: stored.head) }
        let lookup = query.map { CacheLookup($0, stored: stored, toleratesError: toleratesError) }
        exchange.cacheNote = CacheNote(lookup: lookup, moment: cache.moment(after: finding?.moment.revision))
        // Most answers to a plain GET mean nothing to a cache, unless somebody is asked about every response.
        if stored != nil || exchange.method != "GET" || host.cachePolicy != .useProtocolCachePolicy
            || host.storingPolicy.asks || exchange.lead != nil
        {
            exchange.awaitsHead = true
        }
        return .pass
    }

    // MARK: Back

    func receive(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        guard let cache, let note = exchange.cacheNote else { return .pass }
        exchange.cacheNote = nil
        let query = note.lookup?.query ?? CacheQuery(exchange, policy: host.cachePolicy, in: cache)
        if let stored = note.lookup?.stored, head.status == 304 {
            return confirm(stored, by: head, query, note, exchange, cache)
        }
        if let stored = note.staleAnswer, Self.toleratedStatuses.contains(head.status) {
            exchange.lead?.end(.stale)
            return answer(stored, to: query, source: .cache, in: cache)
        }
        exchange.recorder = ResponseRecorder.note(
            head, to: query, sentAt: note.moment, isValidated: note.lookup?.stored != nil, cache: cache,
            storing: storingPolicy(for: query, host, cache), deferredWork: &exchange.deferredWork)
        if let lead = exchange.lead, exchange.recorder?.answersEqualRequests != true { lead.end(.unshared) }
        return .pass
    }

    /// Nothing is stored for an identity that a delegate gave after the look: for whom the response is was not known.
    private func storingPolicy(for query: CacheQuery, _ host: any LinkContext, _ cache: ResponseCache) -> StoringPolicy
    {
        query.clientIdentity == cache.scope.clientIdentity(for: query.url)
            ? host.storingPolicy : StoringPolicy(stores: false)
    }

    func ended(_ outcome: ExchangeOutcome, of exchange: ChainContext, for host: any LinkContext) -> Recovery? {
        guard let cache else { return nil }
        switch outcome {
        case .answered: exchange.lead?.end(.stored)
        case .abandoned: exchange.lead?.end(.handedOver)
        case .failed(let failure):
            // A deadline of this request alone is no failure of the requests that wait for it.
            let isOwn = failure.isTimeout && (host.deadlineNanoseconds ?? .max) <= cache.clock.monotonicNanoseconds
            exchange.lead?.end(isOwn || failure.isCancel ? .handedOver : .failed(failure))
            guard failure.isOfNetwork, let stored = exchange.cacheNote?.staleAnswer,
                let query = exchange.cacheNote?.lookup?.query
            else { return nil }
            return .answer(localAnswer(stored, to: query, source: .cache, in: cache))
        }
        return nil
    }

    /// Answers with the stored response that the origin has validated.
    private func confirm(
        _ stored: StoredResponse, by answer: ResponseHead, _ query: CacheQuery, _ note: CacheNote,
        _ exchange: ChainContext, _ cache: ResponseCache
    ) -> Decision {
        // A 304 about something else says nothing about what is stored: asked again, without conditions (§4.3.4).
        guard RevalidationRules.isAbout(stored.head, answer) else {
            var next = exchange.message
            next.cacheUse = .unconditional
            return .again(next)
        }
        let fresh = cache.freshen(
            stored, by: answer, to: query, requestTime: note.moment.time, responseTime: cache.now())
        exchange.lead?.end(.stored)
        return self.answer(fresh, to: query, source: .revalidation, in: cache)
    }

    private func answer(
        _ stored: StoredResponse, to query: CacheQuery, source: AnswerSource, in cache: ResponseCache,
        since start: UInt64? = nil
    ) -> Decision {
        .answer(localAnswer(stored, to: query, source: source, in: cache, since: start))
    }

    /// A stored response as the answer.
    ///
    /// `start` is when the request began to wait for another one, in nanoseconds of the monotonic clock; `nil` is now.
    private func localAnswer(
        _ stored: StoredResponse, to query: CacheQuery, source: AnswerSource, in cache: ResponseCache,
        since start: UInt64? = nil
    ) -> LocalAnswer {
        // The head says how old the response is (RFC 9111 §4, §5.1).
        let age = Int(Freshness.age(of: stored.head, at: cache.now()))
        let head = stored.head.response.setting("Age", to: "\(age)")
        let content = query.method == "HEAD" ? Data() : stored.content
        return LocalAnswer(head, content, source: source, on: cache.queue, since: start)
    }
}

extension CacheFinding {
    /// What is known without a look: nothing is stored.
    fileprivate init(_ moment: ResponseCache.Moment) {
        self.init(decision: .fetch, stored: nil, moment: moment, fetch: .unclaimed)
    }

    /// Whether the stored response may answer in place of an error.
    fileprivate var toleratesError: Bool {
        if case .validate(_, let toleratesError) = decision { toleratesError } else { false }
    }
}

extension LocalAnswer {
    /// A head and content that are there already; `queue` is where they are delivered.
    fileprivate init(
        _ head: ResponseHead, _ content: Data, source: AnswerSource, on queue: DispatchQueue, since start: UInt64? = nil
    ) {
        let start = start ?? StoredPlayback.nanoseconds
        let playback = StoredPlayback(head, content: content, startNanoseconds: start)
        self.init(source: source) { StoredTransfer(playback, for: $0, on: queue) }
    }
}

extension FieldBlock {
    /// The fields with the directives that a policy sends to caches on the way (RFC 9111 §5.2.1, §5.4), unless the
    /// request has directives of its own.
    ///
    /// As in browsers: a reload past all caches sends `no-cache`, a reload that revalidates sends `max-age=0`.
    fileprivate func adding(_ policy: URLRequest.CachePolicy) -> FieldBlock {
        let directives: [Field] =
            switch policy {
            case .reloadIgnoringLocalAndRemoteCacheData:
                [Field(name: "Cache-Control", value: "no-cache"), Field(name: "Pragma", value: "no-cache")]
            case .reloadRevalidatingCacheData: [Field(name: "Cache-Control", value: "max-age=0")]
            default: []
            }
        let missing = directives.filter { !contains($0.name) }
        return missing.isEmpty ? self : FieldBlock(fields + missing)
    }
}

extension CacheQuery {
    /// The message of an exchange that has reached the cache.
    ///
    /// `facts` are those of the exchange's fields, where they are known already. May wait for a disk when there is a
    /// client identity.
    init(
        _ exchange: ChainContext, policy: URLRequest.CachePolicy, in cache: ResponseCache,
        facts known: CacheQuery.CacheDirectives? = nil
    ) {
        // An answer to a Digest challenge is another one each time; the credentials behind it are what counts.
        let fields =
            exchange.digest == nil
            ? exchange.fields
            : FieldBlock(exchange.fields.fields.filter { !$0.name.isEqualIgnoringASCIICase("Authorization") })
        var message = exchange.wire
        message.fields = fields
        let facts = known.flatMap { exchange.digest == nil ? $0 : nil } ?? cache.facts(of: fields)
        let identity = cache.scope.clientIdentity(for: exchange.url)
        self.init(
            message: message, url: exchange.url, key: CacheKey(exchange.url, host: facts.host, in: cache.scope),
            facts: facts, clientIdentity: identity, certificate: identity?.contentDigest, policy: policy,
            separatesCookies: cache.separatesCookies)
    }

    /// Whether the origin may be asked; false when the request accepts only a stored response.
    fileprivate var mayAsk: Bool { policy != .returnCacheDataDontLoad && !(facts.control.onlyIfCached && isAnswerable) }
}

extension ResponseHead {
    /// The answer to `only-if-cached` when nothing suitable is stored (RFC 9111 §5.2.1.7).
    fileprivate static func gatewayTimeout(at time: Date) -> ResponseHead {
        ResponseHead(
            status: 504,
            fields: [Field(name: "Date", value: HTTPDate.text(of: time)), Field(name: "Content-Length", value: "0")])
    }
}

extension TransferFailure {
    fileprivate var isCancel: Bool { if case .cancelled = self { true } else { false } }

    fileprivate var isTimeout: Bool { if case .exchange(.timedOut, _, _) = self { true } else { false } }

    /// Whether the origin could not be reached or did not answer; false for a refused certificate.
    fileprivate var isOfNetwork: Bool {
        let code: URLError.Code? =
            switch self {
            case .exchange(let code, _, _): code
            // A stub's failure, and that of a `URLProtocol`.
            case .reported(let error): (error as? URLError)?.code
            case .cancelled, .unreadableBody, .untrusted, .refused: nil
            }
        return code.map(Self.networkCodes.contains) ?? false
    }

    private static let networkCodes: Set<URLError.Code> = [
        .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
        .notConnectedToInternet, .badServerResponse, .resourceUnavailable,
    ]
}
