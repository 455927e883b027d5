// The requests of a session that are not finished.

import Synchronization

/// The requests of a session that can still be cancelled.
///
/// A request that has begun is kept alive until it ends. A request that waits for `resume()` is referenced weakly, so
/// that it can be released; its own response handlers keep it, as with Alamofire. A request that begins with its first
/// handler is registered when it begins.
final class RequestRegistry: Sendable {
    struct SuspendedRequest {
        weak var request: Request?
    }

    struct State {
        var active = RegisteredRequests()
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
            guard !isDraining || state.active.contains(request) else { return false }
            if !state.dormant.isEmpty { state.dormant[ObjectIdentifier(request)] = nil }
            state.active.insert(request)
            return true
        }
    }

    /// Releases a request that has ended; returns true when `noteDelivered()` must be called after the request's
    /// handlers.
    func remove(_ request: Request) -> Bool {
        // The caller's reference keeps the request: its `deinit` takes the lock.
        state.withLock { state in
            if !state.dormant.isEmpty { state.dormant[ObjectIdentifier(request)] = nil }
            return state.active.remove(request) && isDraining && state.drain.remove(ObjectIdentifier(request))
        }
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
        state.withLock { Set($0.active.all).union($0.dormant.values.compactMap(\.request)) }
    }
}

/// Requests in an array, each of which knows its index: adding and removing one hashes nothing.
struct RegisteredRequests: Sendable {
    private(set) var all: [Request] = []

    var isEmpty: Bool { all.isEmpty }

    func contains(_ request: Request) -> Bool { request.registeredIndex.load(ordering: .relaxed) >= 0 }

    mutating func insert(_ request: Request) {
        guard !contains(request) else { return }
        request.registeredIndex.store(all.count, ordering: .relaxed)
        all.append(request)
    }

    /// Moves the last request to the place of the removed one; returns false if the request is not here.
    mutating func remove(_ request: Request) -> Bool {
        let index = request.registeredIndex.load(ordering: .relaxed)
        guard index >= 0, let last = all.popLast() else { return false }
        request.registeredIndex.store(-1, ordering: .relaxed)
        if last !== request {
            last.registeredIndex.store(index, ordering: .relaxed)
            all[index] = last
        }
        return true
    }
}
