// Calls of an asynchronous store, with completions and time limits.

import Dispatch
import FireweedTransport
import Synchronization

/// Calls an asynchronous store with a time limit, and passes the result to a completion.
struct AsyncStoreCalls: Sendable {
    let store: any AsyncResponseStore
    let lookLimit: Duration
    let fetchLimit: Duration
    private let clock: any SessionClock
    private let queue: DispatchQueue

    /// Makes calls of a store; their time limits expire on `queue`.
    init(_ store: any AsyncResponseStore, clock: any SessionClock, queue: DispatchQueue) {
        self.store = store
        self.clock = clock
        self.queue = queue
        lookLimit = store.timeout
        fetchLimit = store.fetchTimeout
    }

    /// The time limit of a change, which no request waits for; a change moves more bytes than a look-up.
    var changeLimit: Duration { lookLimit * 10 }

    /// Calls `completion` once, on any thread: with what `work` returned, or with `nil` when it threw or was too slow.
    func call<Value: Sendable>(
        within limit: Duration, _ work: @escaping @Sendable (any AsyncResponseStore) async throws -> Value,
        completion: @escaping @Sendable (Value?) -> Void
    ) {
        let call = BoundedCall(completion)
        call.add(clock.schedule(.limit, after: limit, on: queue) { call.finish(nil) })
        let task = Task { [store] in call.finish(try? await work(store)) }
        call.add(TaskCall(task: task))
    }
}

/// A task that can be cancelled like a scheduled call.
private struct TaskCall: ScheduledCall {
    let task: Task<Void, Never>

    func cancel() { task.cancel() }
}

/// A call and its time limit: the first of the two to end decides the result.
private final class BoundedCall<Value: Sendable>: Sendable {
    private struct State {
        var completion: (@Sendable (Value?) -> Void)?
        /// The task and the timer, both cancelled at the end.
        var parts: [any ScheduledCall] = []
    }

    private let state: Mutex<State>

    init(_ completion: @escaping @Sendable (Value?) -> Void) {
        state = Mutex(State(completion: completion))
    }

    func add(_ part: any ScheduledCall) {
        let isOver = state.withLock { state in
            guard state.completion != nil else { return true }
            state.parts.append(part)
            return false
        }
        if isOver { part.cancel() }
    }

    func finish(_ value: Value?) {
        let (completion, parts) = state.withLock { state in
            defer { state.parts = [] }
            return (state.completion.take(), state.parts)
        }
        guard let completion else { return }
        for part in parts { part.cancel() }
        completion(value)
    }
}
