// Writes that a store has not performed yet.

import Foundation

/// The writes that a store has not performed yet, in order.
///
/// A look-up combines the store's responses with these writes. So a look-up never waits for a write, and never misses
/// one.
struct PendingWrites {
    /// One change of a store.
    enum Write: Sendable {
        /// Store a response; `revision` is the key's revision from the look-up before the request, if there was one.
        case store(StoredResponse, revision: UInt64?)
        case updateHead(StoredHead)
        case remove

        /// Performs the write; with `hasFailedBefore`, first removes the responses that a failed write left.
        func perform(on store: any ResponseStore, for key: String, hasFailedBefore: Bool) throws {
            if hasFailedBefore { try store.removeResponses(for: key) }
            switch self {
            case .store(let response, _): try store.store(response, for: key)
            case .updateHead(let head): try store.updateHead(head, for: key)
            case .remove: try store.removeResponses(for: key)
            }
        }

        /// Performs the write on an asynchronous store, otherwise in the same way.
        func perform(on store: any AsyncResponseStore, for key: String, hasFailedBefore: Bool) async throws {
            if hasFailedBefore { try await store.removeResponses(for: key) }
            switch self {
            case .store(let response, let revision): try await store.store(response, for: key, revision: revision)
            case .updateHead(let head): try await store.updateHead(head, for: key)
            case .remove: try await store.removeResponses(for: key)
            }
        }
    }

    /// The combined effect of the writes of one key.
    struct CombinedWrites: Sendable {
        static let none = CombinedWrites()

        /// Responses that are still to be written.
        fileprivate(set) var responses: [StoredResponse] = []
        /// Newer heads of responses that the store has, by identifier.
        fileprivate(set) var heads: [UInt64: StoredHead] = [:]
        /// Whether the responses of the key in the store are obsolete.
        fileprivate(set) var hidesStored = false
        /// Whether the last write failed: the store may still have obsolete responses.
        fileprivate(set) var hasFailed = false
        fileprivate var writeCount = 0

        fileprivate var byteCount: Int { responses.reduce(0) { $0 + $1.byteCount } }

        fileprivate mutating func apply(_ write: Write) {
            switch write {
            case .store(let response, _):
                responses.removeAll { $0.head.variant == response.head.variant }
                responses.append(response)
            case .updateHead(let head):
                guard let index = responses.firstIndex(where: { $0.head.identifier == head.identifier }) else {
                    heads[head.identifier] = head
                    return
                }
                responses[index].head = head
            case .remove:
                responses = []
                heads = [:]
                hidesStored = true
            }
        }
    }

    /// The most bytes of responses that may wait; further responses are not stored.
    private static let byteLimit = 16 << 20
    /// The most keys that are remembered after a failed write.
    private static let failureLimit = 4096

    /// The invalidations, changed under the same lock as the writes: an invalidated response is refused here, or
    /// removed by a later write.
    var invalidations = Invalidations()
    private var outcomes: [String: CombinedWrites] = [:]
    private var byteCount = 0
    /// The writes that have not begun, by number, from `nextNumber` on.
    private var queue: [Int: (key: String, write: Write)] = [:]
    private var nextNumber = 0

    /// The combined effect of the writes of a key; `nil` when there are none.
    subscript(key: String) -> CombinedWrites? { outcomes[key] }

    /// Adds a write, and returns the write that the store has to perform.
    ///
    /// A response beyond the byte limit is not stored: the key's stored responses are removed instead.
    mutating func add(_ write: Write, for key: String) -> Write {
        var accepted = write
        if case .store(let response, _) = write, byteCount + response.byteCount > Self.byteLimit { accepted = .remove }
        var outcome = outcomes.removeValue(forKey: key) ?? CombinedWrites()
        let before = outcome.byteCount
        outcome.apply(accepted)
        outcome.writeCount += 1
        byteCount += outcome.byteCount - before
        outcomes[key] = outcome
        queue[nextNumber + queue.count] = (key, accepted)
        return accepted
    }

    /// Takes the next write, in the order of `add`; `finish` has to follow.
    mutating func next() -> (key: String, write: Write, hasFailedBefore: Bool)? {
        guard let (key, write) = queue.removeValue(forKey: nextNumber) else { return nil }
        nextNumber += 1
        return (key, write, outcomes[key]?.hasFailed ?? false)
    }

    /// Records the end of a write.
    ///
    /// After a failed write, the store's responses of the key are hidden until a later write has removed them.
    mutating func finish(_ key: String, hasFailed: Bool) {
        guard var outcome = outcomes.removeValue(forKey: key) else { return }
        outcome.writeCount -= 1
        outcome.hasFailed = hasFailed
        if outcome.writeCount > 0 {
            outcomes[key] = outcome
            return
        }
        byteCount -= outcome.byteCount
        guard hasFailed, outcomes.count < Self.failureLimit else { return }
        outcomes[key] = CombinedWrites(hidesStored: true, hasFailed: true)
    }
}
