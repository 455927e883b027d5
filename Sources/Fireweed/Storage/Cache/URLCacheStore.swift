// `URLCache` as a store.

import Dispatch
import Foundation
import FoundationNetworking
import Synchronization

/// Stores responses in a `URLCache`, such as that of the configuration.
///
/// Foundation's cache on Linux keeps one response for each host and path, whatever the scheme, query and method. So the
/// response that it returns for one URL may belong to another: this is checked here, and counts as a miss. A look-up
/// that finds nothing takes most of a millisecond, and a write to the disk some milliseconds. So misses are remembered
/// for a second, during which responses that other code stores are not found; a subclass is asked each time. The disk
/// is written in the background, while the memory has the response immediately. If the responses that wait for the disk
/// fill the memory, the next response is written to the disk at once.
final class URLCacheStore: ResponseStore, @unchecked Sendable {
    // SAFETY: `URLCache` synchronises itself; everything else here is a `let` or behind the lock.
    private let cache: URLCache
    private let folder: URLCacheFolder?
    private let state = Mutex(State())
    private let disk = DispatchQueue(label: "fireweed.urlcache", qos: .utility)

    private struct State {
        var misses = NegativeLookupCache()
        /// How many responses of each key are being stored: a miss of such a key is not remembered.
        var expected: [String: Int] = [:]
        /// The number of begun and finished stores: a miss is not remembered if this number changed during the look-up.
        var changeCount = 0
        /// Responses that are still to be written to the disk; the last of each key.
        var unwritten = UnwrittenResponses()
        /// Whether the cache had responses since everything was removed.
        var isFilled = false
    }

    init(_ cache: URLCache) {
        self.cache = cache
        folder = URLCacheFolder(of: cache)
    }

    /// 5 per cent of the larger capacity, as Apple documents it.
    var maximumEntryByteCount: Int {
        max(cache.memoryCapacity, cache.diskCapacity) / 20
    }

    /// True: this store keeps responses that must not reach the disk in memory only.
    var isInMemory: Bool { true }

    var mayHoldResponses: Bool {
        state.withLock { !$0.misses.isEverythingMissing }
    }

    func mayHoldResponse(for key: String) -> Bool {
        state.withLock { !$0.misses.contains(key) }
    }

    func response(for key: String, choosing choose: ([StoredHead]) -> Int?) throws -> StoredResponse? {
        guard let request = Self.request(for: key), mayHoldResponse(for: key) else { return nil }
        let changeCount = state.withLock { $0.changeCount }
        guard let cached = cachedResponse(for: request, key) else {
            noteMiss(of: key, since: changeCount)
            return nil
        }
        if let own = cached as? OwnCachedURLResponse {
            return own.key == key && choose([own.stored.head]) != nil ? own.stored : nil
        }
        guard let url = cached.response.url, cached.isOwn ? url.absoluteString == key : CacheKey.text(of: url) == key,
            let stored = StoredResponse(cached), choose([stored.head]) != nil
        else { return nil }
        return stored
    }

    func store(_ response: StoredResponse, for key: String) throws {
        defer { endExpectation(of: key) }
        guard let request = Self.request(for: key), let url = request.url,
            let plain = response.cachedURLResponse(for: url)
        else { return }
        state.withLock { $0.misses.forget(key) }
        let kept = OwnCachedURLResponse(response, as: plain, for: key)
        Self.changing.withLock { _ in keep(kept, for: request) }
    }

    func expectResponse(for key: String) {
        state.withLock { state in
            state.misses.forget(key)
            state.changeCount += 1
            state.expected[key, default: 0] += 1
        }
    }

    /// Ends an expectation: the response was stored, or will not be.
    private func endExpectation(of key: String) {
        state.withLock { state in
            state.misses.forget(key)
            state.changeCount += 1
            guard let count = state.expected[key] else { return }
            state.expected[key] = count > 1 ? count - 1 : nil
        }
    }

    func updateHead(_ head: StoredHead, for key: String) throws {
        let present = try response(for: key) { heads in heads.firstIndex { $0.identifier == head.identifier } }
        guard let present else { return }
        var updated = present
        updated.head = head
        try store(updated, for: key)
    }

    func removeResponses(for key: String) throws {
        guard let request = Self.request(for: key) else { return }
        Self.changing.withLock { _ in
            state.withLock { $0.unwritten.remove(key) }
            cache.removeCachedResponse(for: request)
        }
    }

    func removeAllResponses() throws {
        Self.changing.withLock { _ in
            state.withLock { ($0.unwritten, $0.isFilled) = (UnwrittenResponses(), false) }
            cache.removeAllCachedResponses()
        }
    }

    private static func request(for key: String) -> URLRequest? {
        URL(string: key).map { URLRequest(url: $0) }
    }

    // MARK: Misses

    private func noteMiss(of key: String, since changeCount: Int) {
        // A subclass may find responses elsewhere.
        guard type(of: cache) == URLCache.self else { return }
        // The usage is not computed once the cache has had responses: Foundation adds the sizes of all files in the
        // folder.
        let isFilled = state.withLock(\.isFilled)
        let isEmpty =
            !isFilled && cache.currentMemoryUsage == 0 && (cache.diskCapacity == 0 || cache.currentDiskUsage == 0)
        state.withLock { state in
            if !isEmpty { state.isFilled = true }
            guard state.expected[key] == nil, state.changeCount == changeCount else { return }
            state.misses.note(key, isEmpty: isEmpty && state.expected.isEmpty)
        }
    }

    // MARK: The disk

    /// Stores a response in the memory, and in the background on the disk; called with `changing` held.
    private func keep(_ response: OwnCachedURLResponse, for request: URLRequest) {
        let key = response.key
        guard cache.diskCapacity > 0 else { return replace(by: response, for: request, key: key) }
        guard response.storagePolicy == .allowed else {
            // An earlier response of this key may still wait for the disk: it must not be written any more.
            state.withLock { $0.unwritten.remove(key) }
            return replace(by: response, for: request, key: key)
        }
        // While responses wait for the disk, the memory must not evict them.
        let waiting = state.withLock(\.unwritten.byteCount)
        guard cache.memoryCapacity > (waiting + response.data.count) * 2 else {
            state.withLock { $0.unwritten.remove(key) }
            replace(by: response, for: request, key: key)
            folder?.closeFiles()
            return
        }
        replace(by: OwnCachedURLResponse(inMemory: response), for: request, key: key)
        state.withLock { $0.unwritten.add(response, for: key) }
        disk.async { Self.changing.withLock { _ in self.writeNext() } }
    }

    /// Calls `completion` when all responses that were stored so far are on the disk.
    func afterDiskWrites(_ completion: @escaping @Sendable () -> Void) {
        disk.async(execute: completion)
    }

    /// Writes the response that has waited longest, if there is one; called with `changing` held.
    private func writeNext() {
        guard let (key, response) = state.withLock({ $0.unwritten.next() }) else { return }
        // A response that is no longer in the memory was removed by other code, or evicted: it must not come back.
        if let request = Self.request(for: key),
            (cachedResponse(for: request, key) as? OwnCachedURLResponse)?.isCopy(of: response) == true
        {
            replace(by: response, for: request, key: key)
            folder?.closeFiles()
        }
    }

    /// The replacements of this process, since sessions share caches.
    private static let replacements = Mutex(Replacements())
    /// Held while a response is stored, removed or written to the disk, so that the background write cannot restore a
    /// response that was removed or replaced.
    private static let changing = Mutex(())

    /// Removes the response of a request and stores another one, which look-ups find meanwhile; called with `changing`
    /// held.
    ///
    /// Foundation's cache (swift-corelibs-foundation 6.3) adds a key that is stored twice to its eviction order twice.
    /// Once the memory is full, it crashes when it evicts the second entry.
    private func replace(by response: CachedURLResponse, for request: URLRequest, key: String) {
        Self.replacements.withLock { $0.begin(response, for: key, in: cache) }
        cache.removeCachedResponse(for: request)
        cache.storeCachedResponse(response, for: request)
        Self.replacements.withLock { $0.end() }
    }

    /// The response in the cache, or the one that is being stored there.
    private func cachedResponse(for request: URLRequest, _ key: String) -> CachedURLResponse? {
        while true {
            let (count, next) = Self.replacements.withLock { ($0.count, $0.response(for: key, in: cache)) }
            if let found = next ?? cache.cachedResponse(for: request) { return found }
            // A replacement that began during the look-up may have removed the response for a moment: look again.
            if Self.replacements.withLock({ $0.count }) == count { return nil }
        }
    }
}

/// The last response of each key that is still to be written, in order of arrival.
private struct UnwrittenResponses {
    private var responses: [String: (number: Int, response: OwnCachedURLResponse)] = [:]
    private var order: [(key: String, number: Int)] = []
    private var first = 0
    private var count = 0
    private(set) var byteCount = 0

    mutating func add(_ response: OwnCachedURLResponse, for key: String) {
        count += 1
        remove(key)
        byteCount += response.data.count
        responses[key] = (count, response)
        order.append((key, count))
    }

    mutating func remove(_ key: String) {
        byteCount -= responses.removeValue(forKey: key)?.response.data.count ?? 0
    }

    mutating func next() -> (key: String, response: OwnCachedURLResponse)? {
        while first < order.count {
            let (key, number) = order[first]
            first += 1
            // Skips a response that was replaced or removed after it was added.
            guard responses[key]?.number == number, let (_, response) = responses.removeValue(forKey: key) else {
                continue
            }
            byteCount -= response.data.count
            return (key, response)
        }
        (order, first) = ([], 0)
        return nil
    }
}

/// The response that is being stored instead of another one.
private struct Replacements {
    /// The number of replacements that have begun.
    private(set) var count = 0
    private var present: (cache: ObjectIdentifier, key: String, response: CachedURLResponse)?

    mutating func begin(_ response: CachedURLResponse, for key: String, in cache: URLCache) {
        count += 1
        present = (ObjectIdentifier(cache), key, response)
    }

    mutating func end() { present = nil }

    func response(for key: String, in cache: URLCache) -> CachedURLResponse? {
        guard let present, present.cache == ObjectIdentifier(cache), present.key == key else { return nil }
        return present.response
    }
}

/// The keys of recent misses.
private struct NegativeLookupCache {
    private var keys: Set<String> = []
    private var isEmpty = false
    /// When the keys are forgotten, in nanoseconds of the monotonic clock.
    private var end: UInt64 = 0

    private static let limit = 4096

    var isEverythingMissing: Bool {
        isEmpty && DispatchTime.now().uptimeNanoseconds < end
    }

    func contains(_ key: String) -> Bool {
        keys.contains(key) && DispatchTime.now().uptimeNanoseconds < end
    }

    /// Remembers a miss; with `isEmpty`, nothing is stored for any key.
    mutating func note(_ key: String, isEmpty: Bool) {
        let now = DispatchTime.now().uptimeNanoseconds
        if now >= end {
            keys = []
            self.isEmpty = false
            end = now + 1_000_000_000
        }
        self.isEmpty = self.isEmpty || isEmpty
        if keys.count < Self.limit { keys.insert(key) }
    }

    mutating func forget(_ key: String) {
        keys.remove(key)
        isEmpty = false
    }
}
