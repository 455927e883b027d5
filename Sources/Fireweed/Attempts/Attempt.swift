// One try of a request: its messages from the first message to the last response.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Carries one try of a request over the wire, following redirects, and keeps what there is to know about it.
///
/// The transport calls it on its own thread; the request controls it from any. What users see of it is
/// `URLSessionTask`, which is made only when someone asks.
final class Attempt: Sendable {
    struct State {
        var owner: Owner?
        var life = AttemptState()
        /// The number of the request's decision that the attempt follows.
        var intentNumber: UInt64 = 0
        /// How often somebody who takes content had room again.
        var roomCount = 0
        var control: (any TransferControl)?
        /// The present message, as far as it has come.
        var exchange: Exchange
        /// What follows when the present response is left.
        var next: Next?
        /// A walk that waits for a link's decision.
        var parked: Parked?
        /// How many walks have waited.
        var waitCount = 0
        /// The link that gave the present answer; `nil` for one of the wire.
        var answeringLink: Int?
        /// How the present transfer has ended, while somebody still decides about its response.
        var transferEnd: TransferEnd?
        /// Bytes of a response that came after it was left.
        var leftByteCount = 0
        var head: ResponseHead?
        var records: [ExchangeRecord] = []
        /// The first cause of the end, when it is not the transport's.
        var failure: TransferFailure?
        /// What is entered while work that links have put off is under way; `nil` before there was any.
        var chores: DispatchGroup?
        var receivedByteCount: Int64 = 0
        /// Bytes that an earlier download has left: the response brings the rest alone.
        var firstByteOffset: Int64 = 0
        var sentByteCount: Int64 = 0
        var expectedToSend: Int64?
        var response: HTTPURLResponse?
        weak var task: URLSessionTask?
        var taskSettings: TaskSettings?
        /// What a task's `progress` gave, once somebody has asked for it.
        var progress: Progress?
        /// Where the present message's response comes from.
        var source = AnswerSource.network
        /// What the task shows while a `URLProtocol` class is asked about it, or made for it.
        var protocolOffer: ProtocolOffer?

        var message: OutgoingMessage { exchange.message }

        /// Feeds an event to the table.
        ///
        /// An end takes over the cause that the transfer gave, unless there was one before.
        mutating func handle(_ event: AttemptState.Event) -> AttemptState.Effects {
            let effects = life.handle(event)
            if effects.contains(.end) { failure = failure ?? transferEnd?.failure }
            return effects
        }

        /// Notes why the attempt is to end; the first cause stays.
        mutating func fail(_ cause: TransferFailure) {
            if life.stage != .ended { failure = failure ?? cause }
        }

        /// Notes what a try of the present message took.
        mutating func note(_ report: TransferReport) {
            var report = report
            // What ended before it came to a transport has no time of its own.
            if report.startNanoseconds == 0 { report.startNanoseconds = Int64(Date().timeIntervalSince1970 * 1e9) }
            records.append(
                ExchangeRecord(
                    url: exchange.url, method: exchange.method, fields: exchange.fields, head: head, report: report,
                    source: source))
        }

        /// Gives an attempt that ended before it sent anything a transaction, so that it has metrics as every other
        /// one.
        mutating func noteUnsentHop() {
            guard records.isEmpty else { return }
            var report = TransferReport()
            report.startNanoseconds = Int64(Date().timeIntervalSince1970 * 1e9)
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
        deadlineNanoseconds = core.settings.deadlineNanoseconds(on: core.clock)
        state = Mutex(State(owner: owner, exchange: Exchange(message)))
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
        if effects.contains(.stopWaiting), let parked = state.withLock({ $0.parked.take() }) { parked.stop?() }
        if !effects.isDisjoint(with: [.startTransfer, .setFlow, .discard, .cancelTransfer]) { steer(effects) }
        if effects.contains(.goOn) { core.options.rootQueue.async { self.goOn() } }
        if effects.contains(.save) { save() }
        if effects.contains(.end) { tellOfEnd() }
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
    }

    /// Does what the request was told last.
    ///
    /// Two threads may call this in another order than the request was told: the highest number counts.
    func follow(isSuspended: Bool, number: UInt64) {
        let effects = state.withLock { state -> AttemptState.Effects in
            guard number > state.intentNumber else { return [] }
            state.intentNumber = number
            return isSuspended ? state.handle(.suspend) : state.handle(.resume).union(state.handle(.start))
        }
        perform(effects)
    }

    /// Whether the attempt was told to stand still last.
    var isSuspended: Bool { state.withLock { $0.life.holds.reasons.contains(.suspended) } }

    /// Ends the attempt, now or as soon as the transport says so; the owner is told of the end once.
    func cancel(with failure: TransferFailure = .cancelled) {
        handle(.cancel) { $0.fail(failure) }
    }

    /// Ends an attempt whose next message cannot be sent.
    func fail(with failure: TransferFailure) {
        let failure = failure.refined(for: record.url)
        handle(.fails) { $0.fail(failure) }
    }

    /// Ends an attempt that was never begun and that has no waiter; the owner is not told.
    func abandon() {
        state.withLock { $0.owner = nil }
        cancel()
    }

    /// Lets the content of the response flow to the owner, after it answered `.wait`.
    func allow() {
        handle(.passes)
    }

    /// Lets content come again, after the owner had enough of it.
    func resumeIntake() {
        handle(.room) { $0.roomCount += 1 }
    }

    /// Offers content to somebody, and says what may move after that.
    func flow(afterOffering offer: () -> Intake) -> Flow {
        let (roomCount, flow) = state.withLock { ($0.roomCount, $0.life.holds.flow) }
        return hold(after: offer(), offeredAt: roomCount, flow)
    }

    /// - Parameter roomCount: the count before the offer. Where it has changed, there was room again before this call.
    func hold(after intake: Intake, offeredAt roomCount: Int, _ flow: Flow) -> Flow {
        guard intake == .isFull else { return flow }
        return state.withLock { state in
            // The transfer is told by the answer to its call.
            if state.roomCount == roomCount { _ = state.handle(.full) }
            return state.life.holds.flow
        }
    }

    /// Stores what has come; then the attempt continues.
    private func save() {
        let recorder = state.withLock { state in
            state.exchange.recorder.take()
        }
        guard let recorder else { return handle(.saved) }
        recorder.save(deciding: storingDecision) { self.handle(.saved) }
    }

    private func tellOfEnd() {
        let (owner, failure) = state.withLock { state in
            state.control = nil
            state.exchange.recorder = nil
            state.noteUnsentHop()
            return (state.owner.take(), state.failure)
        }
        owner?.attemptDidComplete(self, failure: failure)
    }
}
