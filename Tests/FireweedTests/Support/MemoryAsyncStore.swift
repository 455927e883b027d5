// An asynchronous store in memory, which several sessions may share as processes share a server.

import Fireweed
import FixtureServer
import Foundation
import Synchronization

/// Keeps responses in memory; a test may hold each call.
final class MemoryAsyncStore: AsyncResponseStore {
    /// What a test may hold or fail.
    enum Call: Sendable, Equatable {
        case lookUp, waitForFetch, endFetch, store, updateHead, remove
    }

    let maximumEntryByteCount = 1 << 20
    let timeout: Duration
    let fetchTimeout: Duration
    let calls = ProtectedList<Call>()
    private let onCall: @Sendable (Call) async throws -> Void
    private let state = Mutex(State())

    private struct State {
        var responses: [String: [StoredResponse]] = [:]
        var revisions: [String: UInt64] = [:]
        /// Keys that somebody fetches, and since when.
        var claims: [String: ContinuousClock.Instant] = [:]
        /// Keys whose responses are not for others.
        var unshared: Set<String> = []
        var waiters: [String: [CheckedContinuation<Void, Never>]] = [:]
    }

    /// Makes a store, whose `onCall` runs before a call does anything.
    ///
    /// With a `fetchTimeout` of zero there are no claims.
    init(
        timeout: Duration = TestTimeouts.limit, fetchTimeout: Duration = .zero,
        onCall: @escaping @Sendable (Call) async throws -> Void = { _ in }
    ) {
        self.timeout = timeout
        self.fetchTimeout = fetchTimeout
        self.onCall = onCall
    }

    var count: Int { state.withLock { $0.responses.values.reduce(0) { $0 + $1.count } } }
    var claimCount: Int { state.withLock { $0.claims.count } }
    var waiterCount: Int { state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

    private func note(_ call: Call) async throws {
        calls.append(call)
        try await onCall(call)
    }

    func lookUp(
        _ key: String, claimsFetch: Bool, choosing choose: @escaping @Sendable ([StoredHead]) -> Int?
    ) async throws -> ResponseLookup {
        try await note(.lookUp)
        let variants = state.withLock { $0.responses[key] ?? [] }
        let found = choose(variants.map(\.head)).map { variants[$0] }
        return state.withLock { state in
            var lookup = ResponseLookup(response: found, revision: state.revisions[key] ?? 0)
            if found == nil, claimsFetch, fetchTimeout > .zero, !state.unshared.contains(key) {
                // A claim of which nothing came for so long is taken over by one of those that wait.
                let now = ContinuousClock.now
                let isTaken = state.claims[key].map { now - $0 < fetchTimeout } ?? false
                if !isTaken { state.claims[key] = now }
                lookup.fetch = isTaken ? .elsewhere : .claimed
            }
            return lookup
        }
    }

    func waitForFetch(of key: String) async throws {
        try await note(.waitForFetch)
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard state.claims[key] != nil else { return true }
                state.waiters[key, default: []].append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    func endFetch(of key: String, isShareable: Bool) async throws {
        try await note(.endFetch)
        let waiters = state.withLock { state in
            state.claims[key] = nil
            if !isShareable { state.unshared.insert(key) }
            return state.waiters.removeValue(forKey: key) ?? []
        }
        for waiter in waiters { waiter.resume() }
    }

    func store(_ response: StoredResponse, for key: String, revision: UInt64?) async throws {
        try await note(.store)
        state.withLock { state in
            guard revision == nil || revision == state.revisions[key] ?? 0 else { return }
            state.responses[key, default: []].removeAll { $0.head.variant == response.head.variant }
            state.responses[key, default: []].insert(response, at: 0)
        }
    }

    func updateHead(_ head: StoredHead, for key: String) async throws {
        try await note(.updateHead)
        state.withLock { state in
            guard let index = state.responses[key]?.firstIndex(where: { $0.head.identifier == head.identifier }) else {
                return
            }
            state.responses[key]?[index].head = head
        }
    }

    func removeResponses(for key: String) async throws {
        try await note(.remove)
        state.withLock { state in
            state.responses[key] = nil
            state.revisions[key, default: 0] += 1
        }
    }

    func removeAllResponses() async throws {
        try await note(.remove)
        state.withLock { state in
            for key in state.responses.keys { state.revisions[key, default: 0] += 1 }
            state.responses = [:]
        }
    }
}
