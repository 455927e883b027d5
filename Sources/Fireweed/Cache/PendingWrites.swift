// What was given to a store and is not in the store yet.

import Foundation

/// The writes that a store has not carried out yet, in order.
///
/// A look combines the store's responses with these writes. So a look never waits for a write, and never misses one.
struct PendingWrites {
    /// One change of a store.
    enum Write {
        case store(StoredResponse)
        case updateHead(StoredHead)
        case remove
    }

    /// What the writes of one key come to.
    struct Outcome {
        static let none = Outcome()

        /// Responses that the store has yet to take.
        fileprivate(set) var responses: [StoredResponse] = []
        /// Newer heads of responses that the store has, by identifier.
        fileprivate(set) var heads: [UInt64: StoredHead] = [:]
        /// True when nothing counts that the store has for the key.
        fileprivate(set) var hidesStored = false
        /// True when the last write failed: the store may have what should be gone.
        fileprivate(set) var hasFailed = false
        fileprivate var writeCount = 0

        fileprivate var byteCount: Int { responses.reduce(0) { $0 + $1.byteCount } }

        fileprivate mutating func apply(_ write: Write) {
            switch write {
            case .store(let response):
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

    /// Bytes of responses that may wait; what comes beyond them is not stored.
    private static let byteLimit = 16 << 20
    /// Keys whose writes failed that are remembered.
    private static let failureLimit = 4096

    /// Changed together with the writes: a response is either invalidated when it is stored, or removed after that.
    var invalidations = Invalidations()
    private var outcomes: [String: Outcome] = [:]
    private var byteCount = 0
    /// The writes by number; those from `nextNumber` on have not begun.
    private var queue: [Int: (key: String, write: Write)] = [:]
    private var nextNumber = 0

    /// What the writes of a key come to; `nil` when there are none.
    subscript(key: String) -> Outcome? { outcomes[key] }

    /// Adds a write, and returns what the store has to do: too much to wait becomes a removal of what the response
    /// replaces.
    mutating func add(_ write: Write, for key: String) -> Write {
        var accepted = write
        if case .store(let response) = write, byteCount + response.byteCount > Self.byteLimit { accepted = .remove }
        var outcome = outcomes.removeValue(forKey: key) ?? Outcome()
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

    /// Notes the end of a write.
    ///
    /// A write that failed hides what the store has for the key, until a later write has removed that.
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
        outcomes[key] = Outcome(hidesStored: true, hasFailed: true)
    }
}
