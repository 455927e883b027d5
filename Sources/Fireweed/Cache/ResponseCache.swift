// The cache of a session: rules, store and queue together.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Looks for stored responses and stores new ones, for one session.
///
/// Everything that may wait for a disk happens on `queue`, in order: what was given to be stored is seen by every later look.
final class ResponseCache: Sendable {
    let queue = DispatchQueue(label: "fireweed.cache")
    let now: @Sendable () -> Date
    private let store: any ResponseStore
    /// The session's own fields, which most requests send unchanged, and what they say.
    private let sharedFields: FieldBlock
    private let sharedFacts: CacheRequest.Facts
    /// The keys that are being validated behind an answer.
    private let refreshing = Mutex<Set<String>>([])

    init(store: any ResponseStore, sharedFields: FieldBlock, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.sharedFields = sharedFields
        self.now = now
        sharedFacts = CacheRequest.Facts(sharedFields)
    }

    /// The cache of a session that has none: nothing is ever found.
    static let none = ResponseCache(store: EmptyResponseStore(), sharedFields: FieldBlock([])) { Date() }

    /// The store that a session was given, else the one of its configuration, if that has room.
    static func store(_ given: (any ResponseStore)?, _ configuration: URLSessionConfiguration) -> (any ResponseStore)? {
        if let given { return given }
        guard let cache = configuration.urlCache, cache.memoryCapacity > 0 || cache.diskCapacity > 0 else { return nil }
        return URLCacheStore(cache)
    }

    var maximumEntryByteCount: Int { store.maximumEntryByteCount }

    /// False when certainly nothing is stored for a target.
    func mayHold(_ url: URL) -> Bool {
        store.mayHoldResponses && store.mayHoldResponse(for: CacheKey.text(of: url))
    }

    /// True when the client wants an answer from the cache or none (RFC 9111 §5.2.1.7).
    func wantsOnlyCached(_ fields: FieldBlock) -> Bool {
        fields === sharedFields ? sharedFacts.control.onlyIfCached : CacheRequest.Facts(fields).control.onlyIfCached
    }

    func facts(of fields: FieldBlock) -> CacheRequest.Facts {
        fields === sharedFields ? sharedFacts : CacheRequest.Facts(fields)
    }

    /// True when it takes a look into the store to know what to do.
    func needsLook(_ request: CacheRequest) -> Bool {
        guard request.isAnswerable, request.looksIntoCache else { return false }
        return mayHold(request.url)
    }

    // MARK: On the queue

    /// What to do about a request, and the stored response that this is about.
    func decide(_ request: CacheRequest) -> (decision: CacheDecision, stored: StoredResponse?) {
        let found = needsLook(request) ? select(for: request) : nil
        return (ReuseRules.decide(request, stored: found?.head, now: now()), found)
    }

    /// The stored response that `Vary` and credentials select (RFC 9111 §4.1): of several, the one with the latest `Date`.
    private func select(for request: CacheRequest) -> StoredResponse? {
        try? store.response(for: CacheKey.text(of: request.url)) { heads in
            let matching = heads.indices.filter { heads[$0].variant.matches(request) }
            return matching.max { heads[$0].responseTime < heads[$1].responseTime }
        }
    }

    /// Stores a response, on the queue; every look from now on finds it.
    func save(_ response: StoredResponse, for url: URL) {
        let key = CacheKey.text(of: url)
        store.expectResponse(for: key)
        queue.async { try? self.store.store(response, for: key) }
    }

    /// Freshens a stored response by a 304, and gives it as it is now.
    func freshen(
        _ stored: StoredResponse, by answer: ResponseHead, to request: CacheRequest, requestTime: Date,
        responseTime: Date
    ) -> StoredResponse {
        var stored = stored
        stored.head = Validation.freshened(
            stored.head, by: answer, requestTime: requestTime, responseTime: responseTime)
        // The answer may forbid what the response allowed (RFC 9111 §5.2.2.5).
        if CacheControl(stored.head.response.value(of: "Cache-Control")).noStore {
            remove([CacheKey.text(of: request.url)])
        } else {
            try? store.updateHead(stored.head, for: CacheKey.text(of: request.url))
        }
        return stored
    }

    /// Learns from an answer that is not stored itself: to HEAD (RFC 9111 §4.3.5), or a 304 to the client's own question (§4.3.4).
    func learn(from answer: ResponseHead, to request: CacheRequest, requestTime: Date, responseTime: Date) {
        guard let stored = select(for: request) else { return }
        let isSame =
            answer.status == 304
            ? Validation.identifiesStrongly(stored.head, answer) : Validation.headIsAbout(stored.head, answer)
        if isSame {
            _ = freshen(stored, by: answer, to: request, requestTime: requestTime, responseTime: responseTime)
        } else if answer.status != 304 {
            remove([CacheKey.text(of: request.url)])
        }
    }

    func remove(_ keys: [String]) {
        for key in keys { try? store.removeResponses(for: key) }
    }

    // MARK: From any thread

    /// Forgets what a change at the origin made useless (RFC 9111 §4.4), before any later look.
    func invalidate(_ keys: @autoclosure () -> [String]) {
        guard store.mayHoldResponses else { return }
        let known = keys().filter(store.mayHoldResponse)
        guard !known.isEmpty else { return }
        queue.async { self.remove(known) }
    }

    /// True when nobody validates this URL behind an answer already; `endRefresh` has to follow.
    func beginRefresh(of url: URL) -> Bool {
        refreshing.withLock { $0.insert(CacheKey.text(of: url)).inserted }
    }

    func endRefresh(of url: URL) {
        _ = refreshing.withLock { $0.remove(CacheKey.text(of: url)) }
    }
}
