// The state of a session's drain, which the registry holds.

/// The state of a drain; used only under the registry's lock.
struct DrainState: Sendable {
    /// The stage of a drain.
    private enum Stage {
        case none
        /// The drain waits for requests that had begun.
        case waiting
        /// The limit is reached, or every request has ended.
        case closing
        case done(DrainReport)
    }

    private var stage = Stage.none
    private var finishedCount = 0
    /// The requests that the drain ends itself, instead of waiting for them.
    private var cancelled: Set<ObjectIdentifier> = []
    /// The number of requests that have left the registry and whose handlers are still being called.
    private var deliveringCount = 0
    /// True when the limit is reached, or when a task that calls `drain` is cancelled, even before the drain begins.
    private var isLimitReached = false
    /// The continuation of the task that performs the drain, while that task waits.
    private var leader: CheckedContinuation<Void, Never>?
    /// The continuations of the tasks that have joined the drain.
    private var joiners: [CheckedContinuation<DrainReport, Never>] = []

    /// Begins the drain; returns false when another call has begun it.
    mutating func begin() -> Bool {
        guard case .none = stage else { return false }
        stage = .waiting
        return true
    }

    /// Notes that the drain ends a request that had begun.
    mutating func cancel(_ request: ObjectIdentifier) { cancelled.insert(request) }

    /// Notes that a request has left the registry; returns true when `noteDelivered` must follow.
    mutating func remove(_ request: ObjectIdentifier) -> Bool {
        guard case .waiting = stage else { return false }
        if !cancelled.contains(request) { finishedCount += 1 }
        deliveringCount += 1
        return true
    }

    /// Notes that the handlers of a request were called, and returns the continuation to resume, if the wait is over.
    mutating func noteDelivered(isEmpty: Bool) -> CheckedContinuation<Void, Never>? {
        deliveringCount -= 1
        return isOver(isEmpty: isEmpty) ? leader.take() : nil
    }

    /// Ends the wait, and returns the continuation to resume, if a task waits.
    mutating func reachLimit() -> CheckedContinuation<Void, Never>? {
        isLimitReached = true
        return leader.take()
    }

    /// Stores the continuation of the task that performs the drain; returns false when the task need not wait.
    mutating func wait(_ continuation: CheckedContinuation<Void, Never>, isEmpty: Bool) -> Bool {
        guard !isOver(isEmpty: isEmpty) else { return false }
        leader = continuation
        return true
    }

    private func isOver(isEmpty: Bool) -> Bool { isLimitReached || isEmpty && deliveringCount == 0 }

    /// Ends the wait for requests; `rest` are the requests that are left, and count as cancelled.
    mutating func close(cancelling rest: some Sequence<ObjectIdentifier>) {
        stage = .closing
        cancelled.formUnion(rest)
    }

    /// Makes the report, and returns it with the tasks that have joined the drain.
    mutating func finish() -> (DrainReport, joiners: [CheckedContinuation<DrainReport, Never>]) {
        let report = DrainReport(finished: finishedCount, cancelled: cancelled.count)
        stage = .done(report)
        defer { joiners = [] }
        return (report, joiners)
    }

    /// Returns the report, or `nil` when the task has to wait for the report.
    mutating func join(_ continuation: CheckedContinuation<DrainReport, Never>) -> DrainReport? {
        if case .done(let report) = stage { return report }
        joiners.append(continuation)
        return nil
    }
}
