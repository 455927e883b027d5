// The cache of a session: rules, store and queue together.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Looks for stored responses and stores new ones, for one session.
///
/// Looks happen on `queue`, writes on a queue of their own, so that no look waits for a write. What was given to be
/// stored is seen by every later look, whether the store has it or not (`PendingWrites`).
final class ResponseCache: Sendable {
    let queue = DispatchQueue(label: "fireweed.cache")
    let now: @Sendable () -> Date
    let separatesCookies: Bool
    private let store: any ResponseStore
    private let writeQueue = DispatchQueue(label: "fireweed.cache.writes")
    private let writes = Mutex(PendingWrites())
    /// How many invalidations there were: read for every request, without the lock.
    private let invalidationCount = Atomic(0)
    /// The session's own fields, which most requests send unchanged, and what they say.
    private let sharedFields: FieldBlock
    private let sharedFacts: CacheQuery.Facts
    /// The keys that are being validated behind an answer.
    private let refreshing = Mutex<Set<String>>([])

    init(store: any ResponseStore, sharedFields: FieldBlock, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.sharedFields = sharedFields
        self.now = now
        separatesCookies = store.separatesCookies
        sharedFacts = CacheQuery.Facts(sharedFields)
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

    /// Whether a response can be stored that must not reach a disk.
    var storesInMemory: Bool { store.isInMemory }

    /// False when certainly nothing is stored for a target.
    func mayHold(_ url: URL) -> Bool {
        store.mayHoldResponses && store.mayHoldResponse(for: CacheKey.text(of: url))
    }

    /// True when the client wants an answer from the cache or none (RFC 9111 §5.2.1.7).
    func wantsOnlyCached(_ fields: FieldBlock) -> Bool {
        fields === sharedFields ? sharedFacts.control.onlyIfCached : CacheQuery.Facts(fields).control.onlyIfCached
    }

    func facts(of fields: FieldBlock) -> CacheQuery.Facts {
        fields === sharedFields ? sharedFacts : CacheQuery.Facts(fields)
    }

    /// True when it takes a look into the store to know what to do.
    func needsLook(_ request: CacheQuery) -> Bool {
        guard request.isAnswerable, request.looksIntoCache else { return false }
        return mayHold(request.url)
    }

    // MARK: On the queue

    /// What to do about a request, and the stored response that this is about.
    func decide(_ request: CacheQuery) -> (decision: CacheDecision, stored: StoredResponse?) {
        let found = needsLook(request) ? select(for: request) : nil
        return (ReuseRules.decide(request, stored: found?.head, now: now()), found)
    }

    /// The stored response for a request, whatever its age.
    func stored(for request: CacheQuery) -> StoredResponse? {
        select(for: request)
    }

    /// The stored response that `Vary` and credentials select; of several, the one with the latest `Date` (RFC 9111 §4,
    /// §4.1).
    ///
    /// A store that fails, or is busy for too long, has nothing.
    private func select(for request: CacheQuery) -> StoredResponse? {
        let key = CacheKey.text(of: request.url)
        let pending = writes.withLock { $0[key] } ?? .none
        let waiting = pending.responses.map(\.head)
        let latest = Self.latest(of: waiting.indices, in: waiting, for: request)
        let arriving = latest.map { pending.responses[$0] }
        guard !pending.hidesStored else { return arriving }
        let found = try? store.response(for: key) { heads in
            let heads = heads.map { pending.heads[$0.identifier] ?? $0 }
            let kept = heads.indices.filter { index in !waiting.contains { $0.variant == heads[index].variant } }
            guard let index = Self.latest(of: kept, in: heads, for: request) else { return nil }
            return arriving.map { Self.isOlder($0.head, heads[index]) } ?? true ? index : nil
        }
        guard var found else { return arriving }
        found.head = pending.heads[found.head.identifier] ?? found.head
        return found
    }

    private static func latest(
        of indices: some Sequence<Int>, in heads: [StoredHead], for request: CacheQuery
    ) -> Int? {
        indices.filter { heads[$0].hasSoundDates && heads[$0].variant.matches(request) }
            .max { isOlder(heads[$0], heads[$1]) }
    }

    private static func isOlder(_ left: StoredHead, _ right: StoredHead) -> Bool {
        (left.originDate, left.responseTime) < (right.originDate, right.responseTime)
    }

    /// Freshens a stored response by a 304, and gives it as it is now.
    func freshen(
        _ stored: StoredResponse, by answer: ResponseHead, to request: CacheQuery, requestTime: Date,
        responseTime: Date
    ) -> StoredResponse {
        var stored = stored
        stored.head = Validation.freshened(
            stored.head, by: answer, requestTime: requestTime, responseTime: responseTime)
        // The answer may forbid what the response allowed (RFC 9111 §5.2.2.5).
        let isForbidden = CacheControl(stored.head.response.value(of: "Cache-Control")).noStore
        write(isForbidden ? .remove : .updateHead(stored.head), for: CacheKey.text(of: request.url))
        return stored
    }

    /// Learns from an answer that is not stored itself: to HEAD (RFC 9111 §4.3.5), or a 304 to the client's own
    /// question (§4.3.4).
    func learn(from answer: ResponseHead, to request: CacheQuery, requestTime: Date, responseTime: Date) {
        guard let stored = select(for: request) else { return }
        let isSame =
            answer.status == 304
            ? Validation.identifiesStrongly(stored.head, answer) : Validation.headIsAbout(stored.head, answer)
        if isSame {
            _ = freshen(stored, by: answer, to: request, requestTime: requestTime, responseTime: responseTime)
        } else if answer.status != 304 {
            write(.remove, for: CacheKey.text(of: request.url))
        }
    }

    // MARK: From any thread

    /// When a request is sent, by the clock and among the invalidations.
    struct Moment: Sendable {
        let time: Date
        fileprivate let invalidationCount: Int

        /// Before everything.
        static let past = Moment(time: Date(timeIntervalSince1970: 0), invalidationCount: 0)
    }

    var moment: Moment {
        Moment(time: now(), invalidationCount: invalidationCount.load(ordering: .acquiring))
    }

    /// Stores the response to a request that was sent at this moment; every look from now on finds it.
    ///
    /// A response that a change at the origin may have overtaken is not stored.
    func save(_ response: StoredResponse, for url: URL, sentAt moment: Moment) {
        let key = CacheKey.text(of: url)
        let accepted = writes.withLock { writes -> PendingWrites.Write? in
            guard !writes.invalidations.contains(key, since: moment.invalidationCount) else { return nil }
            return writes.add(.store(response), for: key)
        }
        if let accepted { begin(accepted, for: key) }
    }

    /// Forgets what a change at the origin made useless (RFC 9111 §4.4), before any later look, and what is on its way.
    func invalidate(_ keys: [String]) {
        for key in keys {
            let isWaiting = writes.withLock { writes in
                writes.invalidations.add(key)
                invalidationCount.store(writes.invalidations.count, ordering: .releasing)
                return writes[key] != nil
            }
            if isWaiting || store.mayHoldResponses && store.mayHoldResponse(for: key) { write(.remove, for: key) }
        }
    }

    /// Calls `completion` when the store has everything that was given so far.
    func flush(_ completion: @escaping @Sendable () -> Void) {
        // Looks come first: what they learn is written too.
        queue.async { self.writeQueue.async(execute: completion) }
    }

    private func write(_ write: PendingWrites.Write, for key: String) {
        begin(writes.withLock { $0.add(write, for: key) }, for: key)
    }

    private func begin(_ write: PendingWrites.Write, for key: String) {
        if case .store = write { store.expectResponse(for: key) }
        writeQueue.async { self.performNextWrite() }
    }

    /// On the queue for writes.
    private func performNextWrite() {
        guard let (key, write, hasFailedBefore) = writes.withLock({ $0.next() }) else { return }
        var hasFailed = false
        do {
            if hasFailedBefore { try store.removeResponses(for: key) }
            switch write {
            case .store(let response): try store.store(response, for: key)
            case .updateHead(let head): try store.updateHead(head, for: key)
            case .remove: try store.removeResponses(for: key)
            }
        } catch {
            hasFailed = true  // a cache that cannot store is no reason to fail a request
        }
        writes.withLock { [hasFailed] in $0.finish(key, hasFailed: hasFailed) }
    }

    /// True when no attempt validates this URL behind an answer already; `endRefresh` has to follow.
    func beginRefresh(of url: URL) -> Bool {
        refreshing.withLock { $0.insert(CacheKey.text(of: url)).inserted }
    }

    func endRefresh(of url: URL) {
        _ = refreshing.withLock { $0.remove(CacheKey.text(of: url)) }
    }
}
