// Methods of the registry for the drain of its session.

import Synchronization

extension RequestRegistry {
    /// The number of requests that have begun and have not ended.
    var activeCount: Int { state.withLock { $0.active.all.count } }

    /// Begins the drain, after which `activate(_:)` refuses new requests; returns false when a drain has begun before.
    func beginDrain() -> Bool {
        state.withLock { state in
            guard state.drain.begin() else { return false }
            isDrainingFlag.store(true, ordering: .sequentiallyConsistent)
            return true
        }
    }

    /// The requests that have begun, the requests that have not, and the background revalidations.
    func requestsToDrain() -> (active: [Request], dormant: [Request], validations: [Attempt]) {
        state.withLock { state in
            (
                state.active.all, state.dormant.values.compactMap(\.request),
                Array(state.validations.values)
            )
        }
    }

    /// Notes that the drain ends an active request.
    func cancelForDrain(_ request: Request) {
        state.withLock { state in
            guard state.active.contains(request) else { return }
            state.drain.cancel(ObjectIdentifier(request))
        }
    }

    /// Notes that a request's handlers were called; for requests for which `remove(_:)` has returned true.
    func noteDelivered() {
        state.withLock { $0.drain.noteDelivered(isEmpty: $0.active.isEmpty) }?.resume()
    }

    /// Ends the wait for requests; when called before the drain begins, the drain will not wait.
    func reachDrainLimit() {
        state.withLock { $0.drain.reachLimit() }?.resume()
    }

    /// Waits until every request has ended, or the limit is reached.
    func waitForRequests() async {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { $0.drain.wait(continuation, isEmpty: $0.active.isEmpty) }
            if !waits { continuation.resume() }
        }
    }

    /// Ends the wait, and returns the requests that are left.
    func closeDrain() -> [Request] {
        state.withLock { state in
            state.drain.close(cancelling: state.active.all.lazy.map { ObjectIdentifier($0) })
            return state.active.all
        }
    }

    /// Makes the report, and gives it to the tasks that have joined the drain.
    func finishDrain() -> DrainReport {
        let (report, joiners) = state.withLock { $0.drain.finish() }
        for joiner in joiners { joiner.resume(returning: report) }
        return report
    }

    /// The report of the drain that another task performs.
    func drainReport() async -> DrainReport {
        await withCheckedContinuation { continuation in
            if let report = state.withLock({ $0.drain.join(continuation) }) { continuation.resume(returning: report) }
        }
    }
}
