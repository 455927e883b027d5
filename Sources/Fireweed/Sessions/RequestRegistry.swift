// The requests of a session that are not finished.

import Synchronization

/// Knows every request of a session that can still be cancelled.
///
/// A request that has begun is kept alive until it ends. One that waits for `resume()` is known, and not kept, so that dropping it
/// leaves nothing; one that would have begun with its first handler, and has none, is not known yet.
final class RequestRegistry: Sendable {
    private struct Dormant {
        weak var request: Request?
    }

    private struct State {
        var active: [ObjectIdentifier: Request] = [:]
        var dormant: [ObjectIdentifier: Dormant] = [:]
    }

    private let state = Mutex(State())

    /// Adds a request that nobody has resumed yet.
    func add(_ request: Request) {
        state.withLock { $0.dormant[ObjectIdentifier(request)] = Dormant(request: request) }
    }

    /// Keeps a request alive, now that it has begun.
    func activate(_ request: Request) {
        state.withLock { state in
            if !state.dormant.isEmpty { state.dormant[ObjectIdentifier(request)] = nil }
            state.active[ObjectIdentifier(request)] = request
        }
    }

    /// Lets go of a request that has ended, or that is going away; `identifier` is its object identifier.
    func remove(_ identifier: ObjectIdentifier) {
        // What was removed is released outside the lock: it may be the last reference.
        let removed = state.withLock { state in
            if !state.dormant.isEmpty { state.dormant[identifier] = nil }
            return state.active.removeValue(forKey: identifier)
        }
        _ = removed
    }

    /// Every request that is not finished.
    var all: Set<Request> {
        state.withLock { Set($0.active.values).union($0.dormant.values.compactMap(\.request)) }
    }
}
