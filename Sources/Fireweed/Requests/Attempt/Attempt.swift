// One try of a request: its messages from the first message to the last response.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// One try of a request: sends its messages, follows redirects, and keeps the results.
///
/// The transport calls it on its own thread; the request controls it from any thread. Users see it as a
/// `URLSessionTask`, which is made only when someone asks for it.
final class Attempt: Sendable {
    struct State {
        var owner: Owner?
        var life = AttemptState()
        /// The number of the request's decision that the attempt follows.
        var intentNumber: UInt64 = 0
        /// How often the owner's buffer had room again.
        var roomCount = 0
        var control: (any TransferControl)?
        /// The present message and its response so far.
        var exchange: ChainContext
        /// What follows once the present response is abandoned.
        var next: Replacement?
        /// A walk that waits for a link's decision.
        var pending: PendingDecision?
        /// The number of walks that have waited so far.
        var waitCount = 0
        /// The link that gave the present response; `nil` for a response of the wire.
        var answeringLink: Int?
        /// The end of the present transfer, while the decision about its response is pending.
        var transferEnd: TransferEnd?
        /// Bytes of a response that came after it was abandoned.
        var leftByteCount = 0
        var head: ResponseHead?
        var records: [ExchangeRecord] = []
        /// The first cause of the end, when it is not the transport's.
        var failure: TransferFailure?
        /// Entered while deferred work of links is under way; `nil` before there is any.
        var deferredWork: DispatchGroup?
        var receivedByteCount: Int64 = 0
        /// Bytes that an earlier download has left: the response brings the rest.
        var firstByteOffset: Int64 = 0
        var sentByteCount: Int64 = 0
        var expectedToSend: Int64?
        var response: HTTPURLResponse?
        weak var task: URLSessionTask?
        var taskSettings: TaskSettings?
        /// The task's `progress`; `nil` until it is first read.
        var progress: Progress?
        /// Where the present response comes from.
        var source = AnswerSource.network
        /// What the task shows while a `URLProtocol` class is asked about it, or made for it.
        var protocolOffer: ProtocolOffer?

        var message: OutgoingMessage { exchange.message }

        /// Feeds an event to the table.
        ///
        /// When the attempt ends, the cause of the transfer's end becomes the cause of the attempt's, unless there is
        /// an earlier one.
        mutating func handle(_ event: AttemptState.Event) -> AttemptState.Effects {
            let effects = life.handle(event)
            if effects.contains(.end) { failure = failure ?? transferEnd?.failure }
            return effects
        }

        /// Notes why the attempt is to end; the first cause stays.
        mutating func fail(_ cause: TransferFailure) {
            if life.stage != .ended { failure = failure ?? cause }
        }

        /// Adds the report of a try of the present message.
        mutating func note(_ report: TransferReport) {
            var report = report
            // What ended before it came to a transport has no time of its own.
            if report.startNanoseconds == 0 { report.startNanoseconds = WallClock.nanoseconds }
            records.append(
                ExchangeRecord(
                    url: exchange.url, method: exchange.method, fields: exchange.fields, head: head, report: report,
                    source: source))
        }

        /// Adds a transaction for an attempt that ended before it sent anything, so that it has metrics like every
        /// other attempt.
        mutating func noteUnsentHop() {
            guard records.isEmpty else { return }
            var report = TransferReport()
            report.startNanoseconds = WallClock.nanoseconds
            records.append(
                ExchangeRecord(
                    url: exchange.url, method: exchange.method, fields: message.fields, head: nil, report: report,
                    source: source))
        }
    }

    let identifier: Int
    let record: RequestRecord
    let core: SessionCore
    let kind: TaskKind
    let state: Mutex<State>
    let cachePolicy: URLRequest.CachePolicy
    let gathersContent: Bool
    /// The chain, outermost link first.
    let links: LinkChain
    /// When the attempt was made, on the transport's monotonic clock.
    let startNanoseconds: UInt64
    /// The moment at which the whole attempt times out, on the transport's clock.
    let deadlineNanoseconds: UInt64?

    init(record: RequestRecord, message: consuming OutgoingMessage, kind: TaskKind, core: SessionCore, owner: Owner) {
        identifier = core.nextTaskIdentifier()
        self.record = record
        self.core = core
        self.kind = kind
        let request = owner.request
        gathersContent = request?.parts.receiver.coalescesContent ?? false
        let own = request.map { $0.parts.receiver.links(for: $0) } ?? []
        links = core.links.behind(own)
        cachePolicy = core.settings.cachePolicy(of: message.urlRequest)
        startNanoseconds = core.clock.monotonicNanoseconds
        deadlineNanoseconds = core.settings.deadlineNanoseconds(after: startNanoseconds)
        state = Mutex(State(owner: owner, exchange: ChainContext(message)))
    }

    // MARK: Control

    /// Feeds an event to the table, and performs what comes out.
    ///
    /// `change` is made under the same lock, first. `withheld` is what the caller sees to itself.
    func handle(
        _ event: AttemptState.Event, withholding withheld: AttemptState.Effects = [],
        change: (inout State) -> Void = { _ in }
    ) {
        let effects = state.withLock { state in
            change(&state)
            return state.handle(event)
        }
        perform(effects.subtracting(withheld))
    }

    func perform(_ effects: AttemptState.Effects) {
        guard !effects.isEmpty else { return }
        if effects.contains(.launch) { launch() }
        if effects.contains(.stopWaiting), let pending = state.withLock({ $0.pending.take() }) { pending.stop?() }
        if !effects.isDisjoint(with: [.startTransfer, .setFlow, .discard, .cancelTransfer]) { steer(effects) }
        if effects.contains(.proceed) { core.arguments.rootQueue.async { self.proceed() } }
        if effects.contains(.save) { save() }
        if effects.contains(.end) { notifyOfEnd() }
    }

    private func steer(_ effects: AttemptState.Effects) {
        let (control, flow) = state.withLock { ($0.control, $0.life.holds.flow) }
        if effects.contains(.startTransfer) { control?.start(flow) }
        if effects.contains(.setFlow) { control?.setFlow(flow) }
        if effects.contains(.discard) { control?.discard() }
        if effects.contains(.cancelTransfer) { control?.cancel() }
    }

    func resume() {
        perform(state.withLock { $0.handle(.resume).union($0.handle(.start)) })
    }

    func suspend() {
        handle(.suspend)
        endFetch(.handedOver)
    }

    /// Suspends or resumes the attempt, as the request was suspended or resumed last.
    ///
    /// Two threads may call this out of order: the highest number wins.
    func follow(isSuspended: Bool, number: UInt64) {
        let effects = state.withLock { state -> AttemptState.Effects in
            guard number > state.intentNumber else { return [] }
            state.intentNumber = number
            return isSuspended ? state.handle(.suspend) : state.handle(.resume).union(state.handle(.start))
        }
        perform(effects)
        if isSuspended { endFetch(.handedOver) }
    }

    /// Whether the last call suspended the attempt.
    var isSuspended: Bool { state.withLock { $0.life.holds.reasons.contains(.suspended) } }

    /// Ends the attempt, immediately or once the transport has ended the transfer; the owner is notified once.
    func cancel(with failure: TransferFailure = .cancelled) {
        handle(.cancel) { $0.fail(failure) }
    }

    /// Ends an attempt whose next message cannot be sent.
    func fail(with failure: TransferFailure) {
        let failure = failure.refined(for: record.url)
        handle(.fails) { $0.fail(failure) }
    }

    /// Ends an attempt that has not begun and that no task waits for, without notifying the owner.
    func abandon() {
        state.withLock { $0.owner = nil }
        cancel()
    }

    /// Whether a message of the attempt left for the network; known once the attempt has ended.
    var hasSent: Bool { state.withLock { $0.records.contains(where: \.wasSent) } }

    /// Lets the content of the response flow to the owner, after it answered `.wait`.
    func allow() {
        handle(.passes)
    }

    /// Lets content come again, once the owner has room.
    func resumeIntake() {
        handle(.room) { $0.roomCount += 1 }
    }

    /// Offers content to the owner, and returns what may move after that.
    func flow(afterOffering offer: () -> Demand) -> Flow {
        let (roomCount, flow) = state.withLock { ($0.roomCount, $0.life.holds.flow) }
        return hold(after: offer(), offeredAt: roomCount, flow)
    }

    /// Stops the content after an offer that filled the owner's buffer, and returns what may move.
    ///
    /// `roomCount` is the count from before the offer. A different count now means that the owner had room again before
    /// this call: the content is not stopped then.
    func hold(after intake: Demand, offeredAt roomCount: Int, _ flow: Flow) -> Flow {
        guard intake == .isFull else { return flow }
        endFetch(.handedOver)
        return state.withLock { state in
            // The transfer is told by the answer to its call.
            if state.roomCount == roomCount { _ = state.handle(.full) }
            return state.life.holds.flow
        }
    }

    /// Stores the response; then the attempt continues.
    private func save() {
        let recorder = state.withLock { state in
            state.exchange.recorder.take()
        }
        guard let recorder else { return handle(.saved) }
        recorder.save(deciding: storingDecision) { self.handle(.saved) }
    }

    /// Tells requests that wait for the response of this one, where that has not been done.
    func endFetch(_ outcome: FetchOutcome) {
        state.withLock { $0.exchange.lead.take() }?.end(outcome)
    }

    private func notifyOfEnd() {
        let (owner, failure, lead, ownFailure) = state.withLock { state in
            state.control = nil
            state.exchange.recorder = nil
            state.noteUnsentHop()
            let failure = state.life.isCancelled ? nil : state.transferEnd?.failure
            return (state.owner.take(), state.failure, state.exchange.lead.take(), failure)
        }
        if let lead { lead.end(failure == nil ? .stored : outcome(of: ownFailure)) }
        owner?.attemptDidComplete(self, failure: failure)
    }

    /// What requests that wait for the response are told after a failure; `nil` when the exchange did not fail itself.
    ///
    /// A cancel, or a deadline of this request alone, is no failure of theirs.
    private func outcome(of failure: TransferFailure?) -> FetchOutcome {
        switch failure {
        case .cancelled, nil: return .handedOver
        case .exchange(.timedOut, _, _) where (deadlineNanoseconds ?? .max) <= core.clock.monotonicNanoseconds:
            return .handedOver
        case .some(let failure): return .failed(failure)
        }
    }
}
