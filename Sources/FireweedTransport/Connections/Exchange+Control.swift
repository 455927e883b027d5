// The control of an exchange by its owner, from any thread.

import CLinux
import Glibc

extension Exchange: TransferControl {
    func start(_ flow: Flow) {
        guard !loopPool.loop.isFromParentProcess else { return failInForkedChild() }
        // The usual case: no flow has to be set, and posting the exchange itself saves a closure.
        if flow == .undecided { return loopPool.loop.post(self) }
        loopPool.withPool { [self] pool in
            _ = self.flow.follow(flow)
            pool.start(self)
        }
    }

    // Control calls made inside a consumer's method take effect when that method returns.

    func setFlow(_ flow: Flow) {
        if loopPool.loop.isCurrent {
            if self.flow.follow(flow) { loopPool.withPool { [self] _ in flowChanged() } }
        } else {
            loopPool.withPool { [self] _ in if self.flow.follow(flow) { flowChanged() } }
        }
    }

    func discard() {
        if loopPool.loop.isCurrent {
            guard hasDeliveredHead else { return cancel() }
            discarded = discarded ?? DiscardedRest()
        }
        loopPool.withPool { [self] pool in
            self.pool = pool
            discardRest()
        }
    }

    func cancel() {
        guard !loopPool.loop.isFromParentProcess else { return failInForkedChild() }
        if loopPool.loop.isCurrent { pendingFailure = pendingFailure ?? .cancelled }
        loopPool.withPool { [self] pool in
            self.pool = pool
            if reports.current.startNanoseconds == 0 { reports.current.startNanoseconds = WallClock.nanoseconds }
            end(.cancelled)
        }
    }

    /// Ends the exchange on the caller's thread: a child of fork(2) has no thread of the loop.
    private func failInForkedChild() {
        let consumer = consumer.take()
        consumer?.transferDidFinish(TransferEnd(.forked, report: TransferReport()))
    }
}

extension Exchange: LoopAction {
    /// Starts the exchange, on the loop's thread.
    func perform(in context: LoopContext) {
        loopPool.pool(in: context).start(self)
    }
}

/// The rest of a response that is read only so that its connection can be used again.
struct DiscardedRest {
    var byteCount = 0
    /// When the connection is closed if the rest has not come; `nil` until the loop has set it.
    var deadline: LoopInstant?
}

extension Exchange {
    /// Whether the rest of the response is discarded.
    var isDiscarding: Bool { discarded != nil }

    /// The most bytes of a discarded response that are read, so that its connection can be used again.
    private static var discardLimit: Int { 64 * 1024 }
    /// The longest time for reading these bytes, in nanoseconds.
    private static var discardTime: LoopInstant { 100_000_000 }

    /// Whether content of the response may be delivered.
    var mayReceiveContent: Bool { flow.level == .running && isInReceivingPace || isDiscarding }
    /// Whether a head, an interim response or the end of the response may be delivered.
    var mayReceiveHead: Bool { flow.level != .suspended || isDiscarding }
    /// Whether bytes of the message may be sent.
    var maySend: Bool { flow.level != .suspended && isInSendingPace || isDiscarding }

    /// Applies a change of the flow: a waiting exchange enters the queue, a running one continues or pauses.
    func flowChanged() {
        switch stage {
        case .made, .finished: break
        case .waiting:
            setTimer()
            if entry.place == nil, flow.level != .suspended { pool?.arrive(self) }
        case .running:
            touch()
            setTimer()
            carrier?.flowChanged()
        }
    }

    /// Counts bytes of a discarded response; false when the rest is too long to be read.
    func discard(_ byteCount: Int) -> Bool {
        var rest = discarded ?? DiscardedRest()
        rest.byteCount += byteCount
        discarded = rest
        return rest.byteCount <= Self.discardLimit
    }

    private func discardRest() {
        guard hasDeliveredHead else { return end(.cancelled) }
        guard stage == .running, discarded?.deadline == nil, let pool else { return }
        var rest = discarded ?? DiscardedRest()
        rest.deadline = pool.context.now &+ Self.discardTime
        discarded = rest
        flowChanged()
    }
}
