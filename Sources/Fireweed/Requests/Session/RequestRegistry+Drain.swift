// The registry while its session is drained.

import Synchronization

extension RequestRegistry {
    /// The number of requests that have begun and have not ended.
    var activeCount: Int { state.withLock { $0.active.count } }

    /// Begins a drain, after which `activate(_:)` refuses requests; false when there was one before.
    func beginDrain() -> Bool {
        state.withLock { state in
            guard state.drain.begin() else { return false }
            isDrainingFlag.store(true, ordering: .sequentiallyConsistent)
            return true
        }
    }

    /// The requests that have begun, those that have not, and the validations.
    func requestsToDrain() -> (active: [Request], dormant: [Request], validations: [Attempt]) {
        state.withLock { state in
            (
                Array(state.active.values), state.dormant.values.compactMap(\.request),
                Array(state.validations.values)
            )
        }
    }

    /// Notes that an active request is ended by the drain.
    func cancelForDrain(_ request: Request) {
        state.withLock { state in
            guard state.active[ObjectIdentifier(request)] != nil else { return }
            state.drain.cancel(ObjectIdentifier(request))
        }
    }

    /// Notes that the handlers of a request were called that `remove(_:)` has returned true for.
    func noteDelivered() {
        state.withLock { $0.drain.noteDelivered(isEmpty: $0.active.isEmpty) }?.resume()
    }

    /// Ends the wait for requests, before a drain begins too.
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
            state.drain.close(cancelling: state.active.keys)
            return Array(state.active.values)
        }
    }

    /// Makes the report, which those that have joined get too.
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
