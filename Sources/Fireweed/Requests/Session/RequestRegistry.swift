// The requests of a session that are not finished.

import Synchronization

/// The requests of a session that can still be cancelled.
///
/// A request that has begun is kept alive until it ends. A request that waits for `resume()` is referenced weakly, so
/// that it can be released. A request that begins with its first handler is registered when it begins.
final class RequestRegistry: Sendable {
    struct SuspendedRequest {
        weak var request: Request?
    }

    struct State {
        var active: [ObjectIdentifier: Request] = [:]
        var dormant: [ObjectIdentifier: SuspendedRequest] = [:]
        /// Attempts without a request, which revalidate stored responses in the background.
        var validations: [ObjectIdentifier: Attempt] = [:]
        var drain = DrainState()
    }

    let state = Mutex(State())
    /// True once the session is drained; read without the lock.
    let isDrainingFlag = Atomic<Bool>(false)
    /// True once a dormant request was added: most sessions never have one, and then `forget(_:)` needs no lock.
    private let hasDormant = Atomic<Bool>(false)

    /// Adds a request that was not resumed yet.
    func add(_ request: Request) {
        hasDormant.store(true, ordering: .releasing)
        state.withLock { $0.dormant[ObjectIdentifier(request)] = SuspendedRequest(request: request) }
    }

    /// Whether a drain has begun, and perhaps ended: the session begins no more requests.
    var isDraining: Bool { isDrainingFlag.load(ordering: .sequentiallyConsistent) }

    /// Retains a request that begins; returns false when the session is drained and the request may not begin.
    ///
    /// A request that is retained already makes its next attempt, which a drain allows.
    func activate(_ request: Request) -> Bool {
        state.withLock { state in
            guard !isDraining || state.active[ObjectIdentifier(request)] != nil else { return false }
            if !state.dormant.isEmpty { state.dormant[ObjectIdentifier(request)] = nil }
            state.active[ObjectIdentifier(request)] = request
            return true
        }
    }

    /// Releases a request that has ended; returns true when `noteDelivered()` must be called after the request's
    /// handlers.
    func remove(_ request: Request) -> Bool {
        // The request is released outside the lock: this may be its last reference, and its `deinit` takes the lock.
        let (removed, isAwaited) = state.withLock { state -> (Request?, Bool) in
            if !state.dormant.isEmpty { state.dormant[ObjectIdentifier(request)] = nil }
            let removed = state.active.removeValue(forKey: ObjectIdentifier(request))
            return (removed, removed != nil && isDraining && state.drain.remove(ObjectIdentifier(request)))
        }
        _ = removed
        return isAwaited
    }

    /// Removes a request that is being deallocated and may never have begun.
    func forget(_ identifier: ObjectIdentifier) {
        guard hasDormant.load(ordering: .acquiring) else { return }
        state.withLock { $0.dormant[identifier] = nil }
    }

    /// Adds an attempt that revalidates a stored response without a request.
    func add(validation attempt: Attempt) {
        state.withLock { $0.validations[ObjectIdentifier(attempt)] = attempt }
    }

    /// Releases a revalidation that has ended.
    func remove(validation attempt: Attempt) {
        _ = state.withLock { $0.validations.removeValue(forKey: ObjectIdentifier(attempt)) }
    }

    /// The last attempt of every request that is not finished, and the attempts without a request.
    var attempts: [Attempt] {
        all.compactMap(\.lastAttempt) + state.withLock { Array($0.validations.values) }
    }

    /// Every request that is not finished.
    var all: Set<Request> {
        state.withLock { Set($0.active.values).union($0.dormant.values.compactMap(\.request)) }
    }
}
