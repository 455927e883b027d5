// One hop, from its start to its only end.

import CCurl
import Foundation

/// One request message on its way out and its response on its way in.
///
/// Its control methods may be called from any thread; they post to the loop, so that a cancel or a resume never runs
/// inside one of libcurl's callbacks.
final class Transfer: TransferControl, @unchecked Sendable {
    let message: RequestMessage
    fileprivate let lane: Lane

    // SAFETY: everything below is touched on the loop's thread alone, once `start` has posted the transfer.
    /// Held until the end, and no longer: the consumer holds the transfer.
    var consumer: (any TransferConsumer)?
    var state = TransferState.waiting
    /// `nil` before the start, after the end, and in line for a connection.
    var handle: EasyHandle?
    var queue: OriginQueue?
    /// What had been written on the connection when the request was about to leave, where this tells whether the
    /// request has left.
    var writtenMark: Int64?
    /// Whether the transfer was given another connection, since its request could not leave on the first one.
    var hasMoved = false
    /// What the transfer waits for before it is given to libcurl.
    var lookup: PendingLookup?
    /// How often libcurl had worked when the transfer was given to it.
    var launchDrive: UInt64 = 0
    /// Place in the pool's list of running transfers.
    var slot = 0
    var pauses: PauseReasons = []
    /// What may move: the latest of the decisions that have come.
    private(set) var flow = Flow.undecided
    /// The last moment at which a byte moved; `nil` while the transfer waits for a free connection.
    var lastActivity: LoopInstant?
    /// The last activity after which libcurl was reminded of the transfer.
    var remindedActivity: LoopInstant?
    /// Interim heads that came while the transfer was suspended.
    var heldInterimHeads: [ResponseHead] = []
    /// The head that waits for the engine's decision whether it authenticates and goes on, or for the transfer to run.
    var heldHead: ResponseHead?
    var hasDeliveredHead = false
    /// Content has come in this turn of the loop, and its consumer wants to hear when that was all.
    private var isInBurst = false
    /// Why the transfer ends, when it is not libcurl that knows.
    ///
    /// The first cause stays.
    var failure: TransferFailure?
    /// What the consumer is told at the end.
    var outcome: TransferFailure?
    /// How many bytes have come since the rest of the response was discarded; `nil` while it is wanted.
    var discardedByteCount: Int?
    /// When a discarded rest is no longer waited for.
    var discardDeadline: LoopInstant?
    /// The trailer section, if one came.
    var trailers: FieldBlock?
    var content = RequestContent.none
    var sentByteCount: Int64 = 0
    /// What has become of the request's content.
    var requestContent = TransferEnd.SentContent.untouched
    var report = TransferReport()

    init(message: consuming RequestMessage, consumer: any TransferConsumer, lane: Lane) {
        self.message = message
        self.consumer = consumer
        self.lane = lane
    }

    func start(_ flow: Flow) {
        guard !lane.loop.isLeftBehind else { return failLeftBehind() }
        // Most transfers run from the start, and there was no other decision.
        if flow == .undecided { return lane.loop.post(self) }
        lane.withPool { [self] pool in
            pool.setFlow(flow, of: self)
            pool.start(self)
        }
    }

    /// Ends the transfer on the caller's thread, in a process that has no thread of the loop.
    private func failLeftBehind() {
        let consumer = consumer.take()
        consumer?.transferDidFinish(TransferEnd(.forked, report: TransferReport()))
    }

    /// Notes that content came.
    func beginBurst(in context: LoopContext) {
        guard message.tellsOfLulls, !isInBurst else { return }
        isInBurst = true
        context.atEndOfTurn(self)
    }

    /// The addresses of the host have come; called on a thread of the resolver.
    func lookupEnded(_ outcome: HostResolver.Outcome) {
        lane.withPool { $0.lookupEnded(self, outcome) }
    }

    // What is called from inside the consumer's methods holds when they have returned: libcurl may hand more over in
    // the same call, before the loop gets to its mailbox.

    func cancel() {
        if lane.loop.isCurrent { failure = failure ?? .cancelled }
        lane.withPool { $0.cancel(self) }
    }

    func setFlow(_ flow: Flow) {
        guard lane.loop.isCurrent else { return lane.withPool { $0.setFlow(flow, of: self) } }
        if follow(flow) { lane.withPool { $0.flowChanged(of: self) } }
    }

    func discard() {
        if lane.loop.isCurrent {
            guard hasDeliveredHead else { return cancel() }
            discardedByteCount = discardedByteCount ?? 0
        }
        lane.withPool { $0.discard(self) }
    }

    /// Follows a decision if it is the latest one, and says whether that changes what may move.
    func follow(_ decision: Flow) -> Bool {
        guard flow.follow(decision) else { return false }
        pauses.subtract([.suspended, .intakeFull])
        switch flow.level {
        case .running: break
        case .receivingPaused: pauses.insert(.intakeFull)
        case .suspended: pauses.insert(.suspended)
        }
        return true
    }

    /// Whether content may come in.
    var mayReceive: Bool { pauses.isDisjoint(with: [.suspended, .intakeFull]) }
}

extension Transfer: LoopAction {
    /// The start, on the loop's thread.
    func perform(in context: LoopContext) {
        lane.pool(in: context).start(self)
    }
}

extension Transfer: TurnEnding {
    /// Tells the consumer that no more has come, or of the end.
    func turnEnds() {
        guard let consumer else { return }
        if isInBurst {
            isInBurst = false
            consumer.transferDidReachLull()
        }
        guard state == .finished else { return }
        self.consumer = nil
        consumer.transferDidFinish(
            TransferEnd(outcome, report: report, requestContent: requestContent, trailers: trailers))
    }
}

/// Why bytes of a transfer stand still.
struct PauseReasons: OptionSet {
    let rawValue: Int

    /// The owner suspended the transfer.
    static let suspended = PauseReasons(rawValue: 1)
    /// The consumer takes no more content.
    static let intakeFull = PauseReasons(rawValue: 2)
    /// The reader of the content has nothing ready.
    static let contentStarved = PauseReasons(rawValue: 4)

    /// The same for `curl_easy_pause`.
    var curlMask: Int32 {
        var mask = CURLPAUSE_CONT
        if !isDisjoint(with: [.suspended, .intakeFull]) { mask |= CURLPAUSE_RECV }
        if !isDisjoint(with: [.suspended, .contentStarved]) { mask |= CURLPAUSE_SEND }
        return mask
    }
}
