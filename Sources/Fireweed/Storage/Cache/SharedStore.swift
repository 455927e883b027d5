// A store and its pending writes, which sessions share.

import Dispatch
import FoundationNetworking
import Synchronization

/// The pending writes and the invalidations of one store.
final class StoreWriter: Sendable {
    /// The queue of the writes.
    let queue = DispatchQueue(label: "fireweed.cache.writes")
    let writes = Mutex(PendingWrites())
    /// The number of invalidations: read for every request, without the lock.
    let invalidationCount = Atomic(0)
}

/// A store with its writer: all sessions of the process that use the store have the same one.
///
/// So every session sees the responses that another one is storing, and a response that is older than an invalidation
/// is refused, whichever session it comes from.
final class SharedStore: Sendable {
    let store: any ResponseStore
    let writer = StoreWriter()

    private struct Reference {
        weak var value: SharedStore?
    }

    private struct Known {
        var stores: [ObjectIdentifier: Reference] = [:]
        /// The number of entries at which those of released stores are removed.
        var limit = 16
    }

    // A store is held by its entry's value, so its address is not used for another object while the value lives.
    private static let known = Mutex(Known())

    private init(_ store: any ResponseStore) {
        self.store = store
    }

    static func of(_ store: any ResponseStore) -> SharedStore {
        of(ObjectIdentifier(store)) { store }
    }

    static func of(_ cache: URLCache) -> SharedStore {
        of(ObjectIdentifier(cache)) { URLCacheStore(cache) }
    }

    private static func of(_ identity: ObjectIdentifier, _ make: () -> any ResponseStore) -> SharedStore {
        if let present = known.withLock({ $0.stores[identity]?.value }) { return present }
        // Made without the lock, since a store may look at its disk. If two sessions make it, one of the two is kept.
        let made = SharedStore(make())
        return known.withLock { known in
            if let present = known.stores[identity]?.value { return present }
            known.stores[identity] = Reference(value: made)
            if known.stores.count >= known.limit {
                known.stores = known.stores.filter { $0.value.value != nil }
                known.limit = max(16, 2 * known.stores.count)
            }
            return made
        }
    }
}
