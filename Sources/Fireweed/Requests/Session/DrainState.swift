// The orderly end of a session, as a state of its registry.

/// The book-keeping of a drain, for use under the registry's lock.
struct DrainState: Sendable {
    /// How far a drain is.
    private enum Stage {
        case none
        /// Requests that had begun may end.
        case waiting
        /// The limit is reached, or every request has ended.
        case closing
        case done(DrainReport)
    }

    private var stage = Stage.none
    private var finishedCount = 0
    /// The requests that are ended instead of waited for.
    private var cancelled: Set<ObjectIdentifier> = []
    /// The requests that have left the registry, and whose handlers are being called.
    private var deliveringCount = 0
    /// Set before the drain where the task that asks for it is cancelled already.
    private var isLimitReached = false
    /// The task that performs the drain.
    private var leader: CheckedContinuation<Void, Never>?
    /// The tasks that have joined it.
    private var joiners: [CheckedContinuation<DrainReport, Never>] = []

    /// Begins; false when another call has begun.
    mutating func begin() -> Bool {
        guard case .none = stage else { return false }
        stage = .waiting
        return true
    }

    /// Notes that a request which had begun is ended instead of waited for.
    mutating func cancel(_ request: ObjectIdentifier) { cancelled.insert(request) }

    /// Notes that a request has left the registry; true when its delivery is to be noted too.
    mutating func remove(_ request: ObjectIdentifier) -> Bool {
        guard case .waiting = stage else { return false }
        if !cancelled.contains(request) { finishedCount += 1 }
        deliveringCount += 1
        return true
    }

    /// Notes that the handlers of a request were called, and returns who is to be resumed.
    mutating func noteDelivered(isEmpty: Bool) -> CheckedContinuation<Void, Never>? {
        deliveringCount -= 1
        return isOver(isEmpty: isEmpty) ? leader.take() : nil
    }

    /// Ends the wait, and returns who is to be resumed.
    mutating func reachLimit() -> CheckedContinuation<Void, Never>? {
        isLimitReached = true
        return leader.take()
    }

    /// Keeps the task that performs the drain; false when it need not wait.
    mutating func wait(_ continuation: CheckedContinuation<Void, Never>, isEmpty: Bool) -> Bool {
        guard !isOver(isEmpty: isEmpty) else { return false }
        leader = continuation
        return true
    }

    private func isOver(isEmpty: Bool) -> Bool { isLimitReached || isEmpty && deliveringCount == 0 }

    /// Ends the wait for requests: those that are left are cancelled.
    mutating func close(cancelling rest: some Sequence<ObjectIdentifier>) {
        stage = .closing
        cancelled.formUnion(rest)
    }

    /// Makes the report, and returns who is to get it besides the caller.
    mutating func finish() -> (DrainReport, joiners: [CheckedContinuation<DrainReport, Never>]) {
        let report = DrainReport(finished: finishedCount, cancelled: cancelled.count)
        stage = .done(report)
        defer { joiners = [] }
        return (report, joiners)
    }

    /// The report, or `nil` when the task has to wait for it.
    mutating func join(_ continuation: CheckedContinuation<DrainReport, Never>) -> DrainReport? {
        if case .done(let report) = stage { return report }
        joiners.append(continuation)
        return nil
    }
}
