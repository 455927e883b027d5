// A store in memory that calls the test when it is used.

import Fireweed
import Synchronization

/// Keeps responses in memory; a test may stop or watch each call.
final class MemoryResponseStore: ResponseStore {
    let maximumEntryByteCount: Int
    private let responses = Mutex<[String: [StoredResponse]]>([:])
    private let onLook: @Sendable (String) -> Void
    private let onStore: @Sendable (String) throws -> Void
    private let onRemove: @Sendable (String) throws -> Void

    private let tellsMisses: Bool
    private let expected = Mutex<Set<String>>([])

    /// Makes a store; each closure is called on the thread of the call, before the call does anything.
    ///
    /// With `tellsMisses`, the store says without a look that nothing is stored for a key.
    init(
        tellsMisses: Bool = false, maximumEntryByteCount: Int = 1 << 20,
        onLook: @escaping @Sendable (String) -> Void = { _ in },
        onStore: @escaping @Sendable (String) throws -> Void = { _ in },
        onRemove: @escaping @Sendable (String) throws -> Void = { _ in }
    ) {
        self.tellsMisses = tellsMisses
        self.maximumEntryByteCount = maximumEntryByteCount
        self.onLook = onLook
        self.onStore = onStore
        self.onRemove = onRemove
    }

    /// How many responses there are.
    var count: Int { responses.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    func mayHoldResponse(for key: String) -> Bool {
        !tellsMisses || expected.withLock { $0.contains(key) }
    }

    func expectResponse(for key: String) {
        _ = expected.withLock { $0.insert(key) }
    }

    func response(for key: String, choosing choose: ([StoredHead]) -> Int?) throws -> StoredResponse? {
        onLook(key)
        let variants = responses.withLock { $0[key] ?? [] }
        return choose(variants.map(\.head)).map { variants[$0] }
    }

    func store(_ response: StoredResponse, for key: String) throws {
        try onStore(key)
        responses.withLock { responses in
            responses[key, default: []].removeAll { $0.head.variant == response.head.variant }
            responses[key, default: []].insert(response, at: 0)
        }
    }

    func updateHead(_ head: StoredHead, for key: String) throws {
        try onStore(key)
        responses.withLock { responses in
            guard let index = responses[key]?.firstIndex(where: { $0.head.identifier == head.identifier }) else {
                return
            }
            responses[key]?[index].head = head
        }
    }

    func removeResponses(for key: String) throws {
        try onRemove(key)
        responses.withLock { $0[key] = nil }
    }

    func removeAllResponses() throws {
        responses.withLock { $0 = [:] }
    }
}
