// The response cache in the chain.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// The cache's notes about an exchange, which it needs when the response comes.
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
final class CacheLink: Link {
    let cache: ResponseCache?

    init(cache: ResponseCache?) {
        self.cache = cache
    }

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
        guard cache.scope.clientIdentity(for: exchange.url) == nil else {
            // The query reads the client identity's file, which may wait for a disk, so this runs on the cache's queue.
            return .deferred(on: cache.queue) { exchange in
                let query = CacheQuery(exchange, policy: policy, in: cache)
                exchange.clientCertificate = query.certificate
                return CacheWalk(query, for: host, in: cache).begin(&exchange)
            }
        }
        let facts = cache.facts(of: exchange.fields)
        let key = cache.heldKey(CacheKey(exchange.url, host: facts.host, in: cache.scope))
        guard
            key != nil || exchange.needsCacheQuery || facts.control.onlyIfCached || policy == .returnCacheDataDontLoad
        else {
            exchange.ask(nil, at: cache.moment, for: host)
            return .pass
        }
        let query = CacheQuery(exchange, policy: policy, in: cache, facts: facts, key: key)
        return CacheWalk(query, for: host, in: cache).begin(&exchange)
    }

    // MARK: Back

    func receive(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        guard let cache, let note = exchange.cacheNote else { return .pass }
        exchange.cacheNote = nil
        let query = note.lookup?.query ?? CacheQuery(exchange, policy: host.cachePolicy, in: cache)
        let walk = CacheWalk(query, for: host, in: cache)
        if let stored = note.lookup?.stored, head.status == 304 {
            return walk.confirm(stored, by: head, note, exchange)
        }
        if let stored = note.staleAnswer, Self.toleratedStatuses.contains(head.status) {
            exchange.lead?.end(.stale)
            return .answer(walk.answer(stored))
        }
        exchange.recorder = ResponseRecorder.note(
            head, to: query, sentAt: note.moment, isValidated: note.lookup?.stored != nil, cache: cache,
            storing: walk.storingPolicy, deferredWork: &exchange.deferredWork)
        if let lead = exchange.lead, exchange.recorder?.answersEqualRequests != true { lead.end(.unshared) }
        return .pass
    }

    func ended(_ outcome: ExchangeOutcome, of exchange: ChainContext, for host: any LinkContext) -> Recovery? {
        guard let cache else { return nil }
        switch outcome {
        case .answered: exchange.lead?.end(.stored)
        case .abandoned: exchange.lead?.end(.handedOver)
        case .failed(let failure):
            // The deadline of this request must not fail the requests that wait for it.
            let isOwn = failure.isTimeout && (host.deadlineNanoseconds ?? .max) <= cache.clock.monotonicNanoseconds
            // A refusal must not fail the waiting requests either, since it depends on this request's priority and
            // deadline.
            let isHandedOver = isOwn || failure.isCancel || failure.overload != nil
            exchange.lead?.end(isHandedOver ? .handedOver : .failed(failure))
            guard failure.isOfNetwork, let stored = exchange.cacheNote?.staleAnswer,
                let query = exchange.cacheNote?.lookup?.query
            else { return nil }
            return .answer(CacheWalk(query, for: host, in: cache).answer(stored))
        }
        return nil
    }
}

extension ChainContext {
    /// Whether the cache has to decide about the message, whatever is stored.
    fileprivate var needsCacheQuery: Bool {
        if case .byRules = cacheUse { originFailure != nil } else { true }
    }

    /// Adds the conditions that validate a stored response, and sets the notes that the cache needs for the response.
    ///
    /// `lookup` is `nil` when nothing is stored; `moment` is when the message is sent.
    mutating func ask(_ lookup: CacheLookup?, at moment: ResponseCache.Moment, for host: any LinkContext) {
        if let stored = lookup?.stored { fields = RevalidationRules.fields(fields, asking: stored.head) }
        cacheNote = CacheNote(lookup: lookup, moment: moment)
        // Most responses to a plain GET do not concern the cache, unless a handler or monitor wants every response.
        if lookup?.stored != nil || method != "GET" || host.cachePolicy != .useProtocolCachePolicy
            || host.storingPolicy.isAboutAll || lead != nil
        {
            awaitsHead = true
        }
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
        return missing.isEmpty ? self : FieldBlock(self, adding: missing)
    }
}

extension CacheQuery {
    /// The message of an exchange that has reached the cache.
    ///
    /// `facts` are the directives of the exchange's fields, if they are known already. May wait for a disk when there
    /// is a client identity.
    convenience init(
        _ exchange: ChainContext, policy: URLRequest.CachePolicy, in cache: ResponseCache,
        facts known: CacheDirectives? = nil, key: CacheKey? = nil
    ) {
        // The answer to a Digest challenge differs each time; the message's credentials identify the user instead.
        let fields =
            exchange.digest == nil
            ? exchange.fields
            : FieldBlock(exchange.fields.fields.filter { !$0.name.isEqualIgnoringASCIICase("Authorization") })
        var message = exchange.wire
        message.fields = fields
        let facts = known.flatMap { exchange.digest == nil ? $0 : nil } ?? cache.facts(of: fields)
        self.init(message, url: exchange.url, facts: facts, policy: policy, in: cache, key: key)
    }
}

extension TransferFailure {
    fileprivate var isCancel: Bool { if case .cancelled = self { true } else { false } }

    fileprivate var isTimeout: Bool { if case .exchange(.timedOut, _, _) = self { true } else { false } }

    /// Whether the origin could not be reached, did not answer, or was protected from overload; false for a refused
    /// certificate.
    var isOfNetwork: Bool {
        guard overload == nil else { return true }
        let code: URLError.Code? =
            switch self {
            case .exchange(let code, _, _): code
            // `.reported` has the error of a `URLProtocol`, a guard, or another transport such as a stub.
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
