// A consumer that waits for the end of its transfer.

import FireweedTransport
import Synchronization

/// Counts heads and ends, and lets a test wait for them.
final class EndRecorder: TransferConsumer {
    private struct State {
        var headCount = 0
        var endCount = 0
        var failure: TransferFailure?
        var waiters: [CheckedContinuation<Void, Never>] = []
        var headWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// Called with every head, before the transport continues.
    private let onHead: @Sendable (ResponseHead) -> Void

    init(onHead: @escaping @Sendable (ResponseHead) -> Void = { _ in }) {
        self.onHead = onHead
    }

    var headCount: Int { state.withLock { $0.headCount } }
    var endCount: Int { state.withLock { $0.endCount } }
    var failure: TransferFailure? { state.withLock { $0.failure } }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        let waiters = state.withLock { state in
            state.headCount += 1
            defer { state.headWaiters = [] }
            return state.headWaiters
        }
        onHead(head)
        for waiter in waiters { waiter.resume() }
        return .undecided
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { .undecided }

    func transferDidFinish(_ end: consuming TransferEnd) {
        let failure = end.failure
        let waiters = state.withLock { state in
            state.endCount += 1
            state.failure = failure
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for the head.
    func head() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.headCount == 0 { state.headWaiters.append(continuation) }
                return state.headCount > 0
            }
            if isThere { continuation.resume() }
        }
    }

    /// Waits for the end, and returns its failure.
    @discardableResult
    func end() async -> TransferFailure? {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.endCount == 0 { state.waiters.append(continuation) }
                return state.endCount > 0
            }
            if isOver { continuation.resume() }
        }
        return failure
    }
}
