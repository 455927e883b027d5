// The cache of a session: rules, store and queue together.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Looks up stored responses and stores new ones, for one session.
///
/// Look-ups run on `queue` and writes on a queue of their own, so that no look-up waits for a write. No thread waits
/// for an ``AsyncResponseStore``. Every later look-up finds a response that was given to `save`, whether it is written
/// or not (`PendingWrites`).
final class ResponseCache: Sendable {
    let queue = DispatchQueue(label: "fireweed.cache")
    let now: @Sendable () -> Date
    let separatesCookies: Bool
    let backing: CacheBacking
    /// The clock of time limits.
    let clock: any SessionClock
    /// The writer, which the sessions of a ``ResponseStore`` share; an asynchronous store keeps the order between
    /// sessions itself.
    private let writer: StoreWriter
    /// Keeps the writer known to later sessions with the same store.
    private let sharedStore: SharedStore?
    /// The part of stored responses' keys that comes from the session and not from requests.
    let scope: CacheScope
    /// The session's own fields, which most requests send unchanged, and their parsed meaning.
    private let sharedFields: FieldBlock
    private let sharedFacts: CacheQuery.CacheDirectives
    /// The number of the shared fields if none of them matters to a cache, else 0.
    private let neutralCount: Int
    /// The keys that are being validated while a stale response is used.
    private let refreshing = Mutex<Set<String>>([])

    init(
        _ backing: Backing, sharedFields: FieldBlock, scope: CacheScope = CacheScope(),
        clock: any SessionClock = SystemClock(),
        now: @escaping @Sendable () -> Date
    ) {
        switch backing {
        case .direct(let shared):
            (self.backing, writer, sharedStore) = (.direct(shared.store), shared.writer, shared)
            separatesCookies = shared.store.separatesCookies
        case .remote(let store):
            self.backing = .remote(AsyncStoreCalls(store, clock: clock, queue: queue))
            (writer, sharedStore) = (StoreWriter(), nil)
            separatesCookies = store.separatesCookies
        }
        self.sharedFields = sharedFields
        self.scope = scope
        self.now = now
        self.clock = clock
        sharedFacts = CacheQuery.CacheDirectives(sharedFields.fields[...])
        neutralCount = sharedFacts == CacheQuery.CacheDirectives() ? sharedFields.fields.count : 0
    }

    convenience init(
        store: any ResponseStore, sharedFields: FieldBlock, now: @escaping @Sendable () -> Date
    ) {
        self.init(.direct(.of(store)), sharedFields: sharedFields, now: now)
    }

    /// The store behind a cache, synchronous or asynchronous.
    enum Backing {
        case direct(SharedStore)
        case remote(any AsyncResponseStore)
    }

    /// The cache of a session without a store: nothing is ever found.
    static let none = ResponseCache(store: EmptyResponseStore(), sharedFields: FieldBlock([])) { Date() }

    /// The store that the session was given, else the configuration's `urlCache` if it has any capacity, else `nil`.
    static func backing(
        _ asyncStore: (any AsyncResponseStore)?, _ store: (any ResponseStore)?,
        _ configuration: URLSessionConfiguration
    ) -> Backing? {
        if let asyncStore { return .remote(asyncStore) }
        if let store { return .direct(.of(store)) }
        guard let cache = configuration.urlCache, cache.memoryCapacity > 0 || cache.diskCapacity > 0 else { return nil }
        return .direct(.of(cache))
    }

    var maximumEntryByteCount: Int {
        switch backing {
        case .direct(let store): store.maximumEntryByteCount
        case .remote(let calls): calls.store.maximumEntryByteCount
        }
    }

    /// Whether the store accepts responses that must not reach a disk.
    var storesInMemory: Bool {
        if case .direct(let store) = backing { store.isInMemory } else { false }
    }

    /// Returns the key of a target for which something may be stored; `nil` only when certainly nothing is.
    ///
    /// The key is not made for a store that holds nothing.
    func heldKey(_ make: @autoclosure () -> CacheKey) -> CacheKey? {
        if case .direct(let store) = backing, !store.mayHoldResponses { return nil }
        let key = make()
        return mayHold(key) ? key : nil
    }

    /// Whether something may be stored for a target; false only when certainly nothing is.
    func mayHold(_ key: CacheKey) -> Bool { mayHold(key.text) }

    private func mayHold(_ key: String) -> Bool {
        guard case .direct(let store) = backing else { return true }
        return store.mayHoldResponses && store.mayHoldResponse(for: key)
    }

    func facts(of fields: FieldBlock) -> CacheQuery.CacheDirectives {
        if fields === sharedFields { return sharedFacts }
        let known = fields.base === sharedFields ? neutralCount : 0
        return CacheQuery.CacheDirectives(fields.fields[known...])
    }

    /// Whether a look-up in the store is needed to decide about a request.
    func needsLook(_ request: CacheQuery) -> Bool {
        guard request.isAnswerable, request.looksIntoCache else { return false }
        return mayHold(request.key)
    }

    // MARK: On the queue

    /// Updates a stored response with the fields of a 304, and returns the updated response.
    func freshen(
        _ stored: StoredResponse, by answer: ResponseHead, to request: CacheQuery, requestTime: Date,
        responseTime: Date
    ) -> StoredResponse {
        var fresh = stored
        fresh.head = RevalidationRules.freshened(
            stored.head, by: answer, requestTime: requestTime, responseTime: responseTime)
        // The updated `Cache-Control` may forbid storing the response (RFC 9111 §5.2.2.5). A response that answers
        // fewer requests now is stored again when it is received the next time.
        let isForbidden =
            CacheControl(fresh.head.response.value(of: "Cache-Control")).noStore
            || stored.head.variant.isNarrowed(by: fresh.head.response, to: request)
        write(isForbidden ? .remove : .updateHead(fresh.head), for: request.key.text)
        return fresh
    }

    /// Updates a stored response with a response to HEAD (RFC 9111 §4.3.5), or a 304 to the client's own conditions
    /// (§4.3.4).
    ///
    /// A response to HEAD about other content removes the stored response.
    func learn(
        from answer: ResponseHead, to request: CacheQuery, about stored: StoredResponse, requestTime: Date,
        responseTime: Date
    ) {
        let isSame =
            answer.status == 304
            ? RevalidationRules.identifiesStrongly(stored.head, answer)
            : RevalidationRules.headIsAbout(stored.head, answer)
        if isSame {
            _ = freshen(stored, by: answer, to: request, requestTime: requestTime, responseTime: responseTime)
        } else if answer.status != 304 {
            write(.remove, for: request.key.text)
        }
    }

    // MARK: From any thread

    /// The moment at which a request was sent, by the clock and in the order of invalidations.
    struct Moment: Sendable {
        let time: Date
        fileprivate let invalidationCount: Int
        /// The store's revision of the key, from the look-up before the request.
        let revision: UInt64?
    }

    var moment: Moment { moment(after: nil) }

    /// The present moment; `revision` comes from the look-up before the request.
    func moment(after revision: UInt64?) -> Moment {
        Moment(time: now(), invalidationCount: writer.invalidationCount.load(ordering: .acquiring), revision: revision)
    }

    /// The rule that chooses among the store's responses and the pending writes of the request's key.
    func selection(for request: CacheQuery) -> StoreSelection {
        let key = request.key.text
        return StoreSelection(request, key: key, pending: writer.writes.withLock { $0[key] } ?? .none)
    }

    /// Stores the response to a request that was sent at this moment; every later look-up finds it.
    ///
    /// A response that may be older than an invalidation of its key is not stored.
    func save(_ response: StoredResponse, for key: CacheKey, sentAt moment: Moment) {
        let key = key.text
        let accepted = writer.writes.withLock { writes -> PendingWrites.Write? in
            guard !writes.invalidations.contains(key, since: moment.invalidationCount) else { return nil }
            return writes.add(.store(response, revision: moment.revision), for: key)
        }
        if let accepted { begin(accepted, for: key) }
    }

    /// Removes the responses of keys that a change at the origin has invalidated (RFC 9111 §4.4), including responses
    /// that are not stored yet.
    func invalidate(_ keys: [CacheKey]) {
        for key in keys.map(\.text) {
            let isWaiting = writer.writes.withLock { writes in
                writes.invalidations.add(key)
                writer.invalidationCount.store(writes.invalidations.count, ordering: .releasing)
                return writes[key] != nil
            }
            if isWaiting || mayHold(key) { write(.remove, for: key) }
        }
    }

    /// Calls `completion` when all changes that were requested so far are written.
    func flush(_ completion: @escaping @Sendable () -> Void) {
        // The completion runs after the look-ups on `queue`, since a look-up may cause a write.
        queue.async { [writer, backing] in
            writer.queue.async {
                guard case .direct(let store as URLCacheStore) = backing else { return completion() }
                store.afterDiskWrites(completion)
            }
        }
    }

    private func write(_ write: PendingWrites.Write, for key: String) {
        begin(writer.writes.withLock { $0.add(write, for: key) }, for: key)
    }

    private func begin(_ write: PendingWrites.Write, for key: String) {
        if case .store = write, case .direct(let store) = backing { store.expectResponse(for: key) }
        writer.queue.async { self.performNextWrite() }
    }

    /// Performs the next write; called on the write queue.
    private func performNextWrite() {
        guard let (key, write, hasFailedBefore) = writer.writes.withLock({ $0.next() }) else { return }
        // An error of the store must not fail a request, so the error is only noted.
        switch backing {
        case .direct(let store):
            let hasFailed = nil == (try? write.perform(on: store, for: key, hasFailedBefore: hasFailedBefore))
            writer.writes.withLock { $0.finish(key, hasFailed: hasFailed) }
        case .remote(let calls):
            call(calls) {
                try await write.perform(on: $0, for: key, hasFailedBefore: hasFailedBefore)
            } completion: {
                self.writer.writes.withLock { [hasFailed = $0 == nil] in $0.finish(key, hasFailed: hasFailed) }
            }
        }
    }

    /// Changes an asynchronous store, after all writes that were requested so far.
    func change(_ work: @escaping @Sendable (any AsyncResponseStore) async throws -> Void) {
        guard case .remote(let calls) = backing else { return }
        writer.queue.async { self.call(calls, work) { _ in } }
    }

    /// Changes an asynchronous store; called on the write queue, which is suspended until the change has ended.
    private func call(
        _ calls: AsyncStoreCalls, _ work: @escaping @Sendable (any AsyncResponseStore) async throws -> Void,
        completion: @escaping @Sendable (Void?) -> Void
    ) {
        writer.queue.suspend()
        calls.call(within: calls.changeLimit, work) { [writer] result in
            completion(result)
            writer.queue.resume()
        }
    }

    /// Begins the validation of a target while its stale response is used; false when such a validation is in progress.
    ///
    /// `endRefresh` must follow when the result is true.
    func beginRefresh(of key: CacheKey) -> Bool {
        refreshing.withLock { $0.insert(key.text).inserted }
    }

    func endRefresh(of key: CacheKey) {
        _ = refreshing.withLock { $0.remove(key.text) }
    }
}

/// The store behind a cache, with time limits for an asynchronous one.
enum CacheBacking: Sendable {
    case direct(any ResponseStore)
    case remote(AsyncStoreCalls)
}
