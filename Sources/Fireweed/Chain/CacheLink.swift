// The response cache in the chain.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// What the cache has to know when the answer to a message comes.
struct CacheNote: Sendable {
    /// What was looked for; `nil` for most messages, since nothing is stored for them.
    let lookup: CacheLookup?
    /// When the origin was asked.
    let moment: ResponseCache.Moment

    /// What answers when the origin cannot.
    var staleAnswer: StoredResponse? { lookup.flatMap { $0.toleratesError ? $0.stored : nil } }
}

/// A look into the cache.
final class CacheLookup: Sendable {
    /// The request as the cache sees it.
    let query: CacheQuery
    /// The stored response that the origin was asked about.
    let stored: StoredResponse?
    /// Whether the stored response may answer in place of an error (RFC 5861 §4).
    let toleratesError: Bool

    init(_ query: CacheQuery, stored: StoredResponse?, toleratesError: Bool) {
        self.query = query
        self.stored = stored
        self.toleratesError = toleratesError
    }
}

/// Answers messages with stored responses, and stores responses (RFC 9111).
///
/// The policy of a request means something to a session without a cache too.
struct CacheLink: Link {
    let cache: ResponseCache?

    /// The errors in whose place a stale response may be used (RFC 5861 §4).
    private static let toleratedStatuses: Set<Int> = [500, 502, 503, 504]

    var interest: HeadInterest {
        cache == nil ? HeadInterest() : HeadInterest(marks: .mayBeWorthStoring, statusClass: 3)
    }

    // MARK: Out

    func send(_ exchange: inout Exchange, for host: any LinkHost) -> Decision {
        guard exchange.webSocket == nil else { return .pass }
        let policy = host.cachePolicy
        if policy != .useProtocolCachePolicy { exchange.fields = exchange.fields.telling(policy) }
        guard cache != nil || policy == .returnCacheDataDontLoad else { return .pass }
        let cache = cache ?? .none
        switch exchange.cacheUse {
        case .byRules:
            let mayHold = policy == .returnCacheDataDontLoad || cache.mayHold(exchange.url)
            guard mayHold || cache.wantsOnlyCached(exchange.fields) else { return ask(nil, of: &exchange, host, cache) }
            let query = CacheQuery(exchange, policy: policy, in: cache)
            guard cache.needsLook(query) || !query.mayAsk else {
                return ask(nil, of: &exchange, host, cache, query)
            }
            return .wait(
                Wait { resume in
                    cache.queue.async { resume { exchange in look(for: query, &exchange, host, cache) } }
                })
        case .unconditional:
            exchange.changeMessage { $0.cacheUse = .byRules }
            return ask(nil, of: &exchange, host, cache, CacheQuery(exchange, policy: policy, in: cache))
        case .refreshing(let stored):
            exchange.changeMessage { $0.cacheUse = .byRules }
            return ask(stored, of: &exchange, host, cache, CacheQuery(exchange, policy: policy, in: cache))
        }
    }

    /// On the cache's queue: looks, and does what the rules say.
    private func look(
        for query: CacheQuery, _ exchange: inout Exchange, _ host: any LinkHost, _ cache: ResponseCache
    ) -> Decision {
        let (decision, stored) = cache.decide(query)
        switch decision {
        case .answer(_, let refreshes):
            guard let stored else { break }
            if refreshes { host.refresh(exchange.message, about: stored, in: cache) }
            return answer(stored, to: query, source: .cache, in: cache)
        case .validate(_, let toleratesError):
            return ask(stored, of: &exchange, host, cache, query, toleratesError: toleratesError)
        case .fetch: break
        case .gatewayTimeout:
            let head = ResponseHead.gatewayTimeout(at: cache.now())
            return .answer(LocalAnswer(head, Data(), source: .notSent, on: cache.queue))
        case .fail:
            let detail = "nothing is stored for this request"
            exchange.isUnsent = true
            return .fail(.exchange(.resourceUnavailable, detail: detail, engineCode: 0))
        }
        return ask(nil, of: &exchange, host, cache, query)
    }

    /// Lets the message pass, with the conditions that ask about a stored response if there is one.
    private func ask(
        _ stored: StoredResponse?, of exchange: inout Exchange, _ host: any LinkHost, _ cache: ResponseCache,
        _ query: CacheQuery? = nil, toleratesError: Bool = false
    ) -> Decision {
        if let stored { exchange.fields = Validation.fields(exchange.fields, asking: stored.head) }
        let lookup = query.map { CacheLookup($0, stored: stored, toleratesError: toleratesError) }
        exchange.cacheNote = CacheNote(lookup: lookup, moment: cache.moment)
        // Most answers to a plain GET mean nothing to a cache, unless somebody is asked about every response.
        if stored != nil || exchange.method != "GET" || host.cachePolicy != .useProtocolCachePolicy
            || host.storingWishes.asks
        {
            exchange.awaitsHead = true
        }
        return .pass
    }

    // MARK: Back

    func receive(_ head: ResponseHead, in exchange: inout Exchange, for host: any LinkHost) -> Decision {
        guard let cache, let note = exchange.cacheNote else { return .pass }
        exchange.cacheNote = nil
        let query = note.lookup?.query ?? CacheQuery(exchange, policy: host.cachePolicy, in: cache)
        if let stored = note.lookup?.stored, head.status == 304 {
            return confirm(stored, by: head, query, note, exchange.message, cache)
        }
        if let stored = note.staleAnswer, Self.toleratedStatuses.contains(head.status) {
            return answer(stored, to: query, source: .cache, in: cache)
        }
        exchange.recorder = ResponseRecorder.note(
            head, to: query, sentAt: note.moment, isValidated: note.lookup?.stored != nil, cache: cache,
            storing: host.storingWishes)
        return .pass
    }

    func recover(from failure: TransferFailure, in exchange: inout Exchange, for host: any LinkHost) -> Decision {
        guard let cache, let note = exchange.cacheNote, let stored = note.staleAnswer, let query = note.lookup?.query,
            failure.isOfNetwork
        else { return .pass }
        return answer(stored, to: query, source: .cache, in: cache)
    }

    /// Answers with the stored response that the origin confirmed.
    private func confirm(
        _ stored: StoredResponse, by answer: ResponseHead, _ query: CacheQuery, _ note: CacheNote,
        _ message: OutgoingMessage,
        _ cache: ResponseCache
    ) -> Decision {
        // A 304 about something else says nothing about what is stored: asked again, without conditions (§4.3.4).
        guard Validation.isAbout(stored.head, answer) else {
            var next = message
            next.cacheUse = .unconditional
            return .again(next)
        }
        let fresh = cache.freshen(
            stored, by: answer, to: query, requestTime: note.moment.time, responseTime: cache.now())
        return self.answer(fresh, to: query, source: .revalidation, in: cache)
    }

    private func answer(
        _ stored: StoredResponse, to query: CacheQuery, source: AnswerSource, in cache: ResponseCache
    ) -> Decision {
        // The head says how old the response is (RFC 9111 §4, §5.1).
        let age = Int(Freshness.age(of: stored.head, at: cache.now()))
        let head = stored.head.response.setting("Age", to: "\(age)")
        let content = query.method == "HEAD" ? Data() : stored.content
        return .answer(LocalAnswer(head, content, source: source, on: cache.queue))
    }
}

extension LocalAnswer {
    /// A head and content that are there already; `queue` is where they are delivered.
    fileprivate init(_ head: ResponseHead, _ content: Data, source: AnswerSource, on queue: DispatchQueue) {
        let playback = StoredPlayback(head, content: content, startNanoseconds: StoredPlayback.nanoseconds)
        self.init(source: source) { StoredTransfer(playback, for: $0, on: queue) }
    }
}

extension FieldBlock {
    /// The fields with what a policy asks of caches on the way (RFC 9111 §5.2.1, §5.4), unless they ask for something.
    ///
    /// As browsers do: a reload past all caches sends `no-cache`, a reload that revalidates sends `max-age=0`.
    fileprivate func telling(_ policy: URLRequest.CachePolicy) -> FieldBlock {
        let wishes: [Field] =
            switch policy {
            case .reloadIgnoringLocalAndRemoteCacheData:
                [Field(name: "Cache-Control", value: "no-cache"), Field(name: "Pragma", value: "no-cache")]
            case .reloadRevalidatingCacheData: [Field(name: "Cache-Control", value: "max-age=0")]
            default: []
            }
        let missing = wishes.filter { !contains($0.name) }
        return missing.isEmpty ? self : FieldBlock(fields + missing)
    }
}

extension CacheQuery {
    /// The message of an exchange that has reached the cache.
    init(_ exchange: Exchange, policy: URLRequest.CachePolicy, in cache: ResponseCache) {
        // An answer to a Digest challenge is another one each time; the credentials behind it are what counts.
        let fields =
            exchange.digest == nil
            ? exchange.fields
            : FieldBlock(exchange.fields.fields.filter { !$0.name.isEqualIgnoringASCIICase("Authorization") })
        var message = exchange.wire
        message.fields = fields
        self.init(
            message: message, url: exchange.url, facts: cache.facts(of: fields), policy: policy,
            separatesCookies: cache.separatesCookies)
    }

    /// False when only a stored response will do.
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
    /// True when the origin could not be reached or did not answer; a refusal of its certificate is no such thing.
    fileprivate var isOfNetwork: Bool {
        if case .exchange(let code, _, _) = self {
            [
                .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
                .notConnectedToInternet, .badServerResponse, .resourceUnavailable,
            ].contains(code)
        } else {
            false
        }
    }
}
