// The requests of a session that are not finished.

import Synchronization

/// The requests of a session that can still be cancelled.
///
/// A request that has begun is kept alive until it ends. A request that waits for `resume()` is referenced weakly, so
/// that releasing it leaves nothing behind. A request that begins with its first handler is not registered before that.
final class RequestRegistry: Sendable {
    private struct SuspendedRequest {
        weak var request: Request?
    }

    private struct State {
        var active: [ObjectIdentifier: Request] = [:]
        var dormant: [ObjectIdentifier: SuspendedRequest] = [:]
        /// The attempts of no request, which validate stored responses.
        var validations: [ObjectIdentifier: Attempt] = [:]
    }

    private let state = Mutex(State())
    /// True once there was a dormant request: most sessions never have one, and then nothing has to be looked up.
    private let hasDormant = Atomic<Bool>(false)

    /// Adds a request that was not resumed yet.
    func add(_ request: Request) {
        hasDormant.store(true, ordering: .releasing)
        state.withLock { $0.dormant[ObjectIdentifier(request)] = SuspendedRequest(request: request) }
    }

    /// Keeps a request alive, now that it has begun.
    func activate(_ request: Request) {
        state.withLock { state in
            if !state.dormant.isEmpty { state.dormant[ObjectIdentifier(request)] = nil }
            state.active[ObjectIdentifier(request)] = request
        }
    }

    /// Releases a request that has ended.
    func remove(_ request: Request) {
        // What was removed is released outside the lock: it may be the last reference.
        let removed = state.withLock { state in
            if !state.dormant.isEmpty { state.dormant[ObjectIdentifier(request)] = nil }
            return state.active.removeValue(forKey: ObjectIdentifier(request))
        }
        _ = removed
    }

    /// Removes a request that is being deallocated and may never have begun.
    func forget(_ identifier: ObjectIdentifier) {
        guard hasDormant.load(ordering: .acquiring) else { return }
        state.withLock { $0.dormant[identifier] = nil }
    }

    /// Adds an attempt that validates a stored response for no request.
    func add(validation attempt: Attempt) {
        state.withLock { $0.validations[ObjectIdentifier(attempt)] = attempt }
    }

    /// Releases a validation that has ended.
    func remove(validation attempt: Attempt) {
        _ = state.withLock { $0.validations.removeValue(forKey: ObjectIdentifier(attempt)) }
    }

    /// The last attempt of every request that is not finished, and those of no request.
    var attempts: [Attempt] {
        all.compactMap(\.lastAttempt) + state.withLock { Array($0.validations.values) }
    }

    /// Every request that is not finished.
    var all: Set<Request> {
        state.withLock { Set($0.active.values).union($0.dormant.values.compactMap(\.request)) }
    }
}
