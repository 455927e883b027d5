// One message that may be sent twice.

import Dispatch
import FireweedTransport
import Synchronization

/// Sends a message, sends it again if the head is late, and delivers one of the two responses.
///
/// Calls to the consumer must not overlap. Therefore a transfer buffers the events before its head, and calls the
/// consumer only after this transfer is chosen.
final class HedgedTransfer: TransferControl, @unchecked Sendable {
    private struct State {
        var race = HedgeState.single
        var message: RequestMessage
        var hasStarted = false
        var isStopped = false
        var flow = Flow.undecided
        var first: (any TransferControl)?
        var second: (any TransferControl)?
        /// The scheduled call that begins the second transfer.
        var delay: (any ScheduledCall)?

        subscript(lane: HedgeState.Lane) -> (any TransferControl)? {
            get { lane == .first ? first : second }
            set { if lane == .first { first = newValue } else { second = newValue } }
        }

        /// The transfers that the owner's control calls apply to.
        var steered: [any TransferControl] {
            switch race {
            case .single, .racing: [first, second].compactMap(\.self)
            case .decided(let lane): [self[lane]].compactMap(\.self)
            case .finished: []
            }
        }
    }

    private let base: any Transport
    private let hedging: Hedging
    private let origin: String
    private let clock: any SessionClock
    private let state: Mutex<State>
    // SAFETY: used by the thread that stops the transfer before its start, otherwise only by the chosen transfer, whose
    // calls never overlap. Set to `nil` at the end, to break a reference cycle: the consumer holds the control.
    private var consumer: (any TransferConsumer)?
    // SAFETY: written before the first transfer starts.
    private var startNanoseconds: UInt64 = 0

    private static let queue = DispatchQueue(label: "fireweed.hedging")

    init(
        of message: consuming RequestMessage, to origin: String, for consumer: any TransferConsumer,
        on base: any Transport, by hedging: Hedging
    ) {
        self.base = base
        self.hedging = hedging
        self.origin = origin
        self.consumer = consumer
        clock = base.clock
        state = Mutex(State(message: message))
    }

    // MARK: Control

    func start(_ flow: Flow) {
        let message = state.withLock { state -> RequestMessage? in
            guard !state.hasStarted, !state.isStopped else { return nil }
            state.hasStarted = true
            _ = state.flow.follow(flow)
            return state.message
        }
        guard let message else { return }
        startNanoseconds = clock.monotonicNanoseconds
        // The hedge is scheduled before the transfer starts: an automatic test clock advances as soon as the transfer
        // waits.
        if let delay = hedging.begin(message, origin: origin, at: startNanoseconds) { scheduleHedge(after: delay) }
        _ = run(message, in: .first)
    }

    private func scheduleHedge(after delay: UInt64) {
        let call = clock.schedule(.limit, after: .nanoseconds(Int64(clamping: delay)), on: Self.queue) { [weak self] in
            self?.hedge()
        }
        state.withLock { $0.delay = call }
    }

    /// Makes and starts the transfer of a lane; returns false when the transfer is no longer wanted.
    private func run(_ message: RequestMessage, in lane: HedgeState.Lane) -> Bool {
        let control = base.makeTransfer(of: message, for: HedgedLane(lane, of: self))
        let flow = state.withLock { state -> Flow? in
            state[lane] = control
            // The other transfer may have answered, or the owner may have cancelled, while this transfer was made.
            guard !state.isStopped, state.race == .single || state.race == .racing || state.race == .decided(lane)
            else { return nil }
            return state.flow
        }
        guard let flow else {
            control.cancel()
            return false
        }
        if lane == .second { hedging.noteHedge(.sent) }
        control.start(flow)
        return true
    }

    private func hedge() {
        let isLate = state.withLock { $0.race == .single && !$0.isStopped && $0.flow.level != .suspended }
        guard isLate, hedging.takeHedge() else { return }
        let message = state.withLock { $0.race.handle(.hedge) == .beginSecond ? $0.message : nil }
        guard let message, run(message, in: .second) else { return hedging.noteHedge(.unneeded) }
    }

    func setFlow(_ flow: Flow) {
        let controls = state.withLock { state in
            _ = state.flow.follow(flow)
            return state.steered
        }
        for control in controls { control.setFlow(flow) }
    }

    func discard() { stop { $0.discard() } }

    func cancel() { stop { $0.cancel() } }

    private func stop(_ stopRunning: (any TransferControl) -> Void) {
        let (controls, isUnstarted) = state.withLock { state in
            let isUnstarted = !state.hasStarted && !state.isStopped
            state.isStopped = true
            return (state.steered, isUnstarted)
        }
        for control in controls { stopRunning(control) }
        guard isUnstarted, let consumer = consumer.take() else { return }
        FailedTransfer(.cancelled, consumer: consumer).start(.undecided)
    }

    // MARK: Events of the transfers

    /// Notes a head; returns the consumer if the head is for the consumer.
    fileprivate func noteHead(of lane: HedgeState.Lane) -> (any TransferConsumer)? {
        let (effect, loser, delay) = state.withLock {
            state -> (HedgeState.Effect, (any TransferControl)?, (any ScheduledCall)?) in
            let effect = state.race.handle(.head(lane))
            guard case .deliverAndCancel(let other) = effect else { return (effect, nil, state.delay.take()) }
            return (effect, state[other], state.delay.take())
        }
        delay?.cancel()
        guard effect != .none else { return nil }
        loser?.cancel()
        let now = clock.monotonicNanoseconds
        hedging.noteHead(of: origin, after: now - min(startNanoseconds, now), isSecond: lane == .second, at: now)
        return consumer
    }

    /// Notes the end of a transfer; returns the consumer if the end is for the consumer.
    fileprivate func noteEnd(of lane: HedgeState.Lane, isRefusal: Bool) -> (any TransferConsumer)? {
        if isRefusal, lane == .second { hedging.noteHedge(.refused) }
        let (effect, delay) = state.withLock { state -> (HedgeState.Effect, (any ScheduledCall)?) in
            state[lane] = nil
            let effect = state.race.handle(.end(lane))
            return (effect, effect == .deliver ? state.delay.take() : nil)
        }
        delay?.cancel()
        return effect == .deliver ? consumer.take() : nil
    }
}

/// The consumer of one of the two transfers.
private final class HedgedLane: TransferConsumer, @unchecked Sendable {
    /// An event of a transfer before its head.
    private enum EarlyEvent {
        case interim(ResponseHead)
        case challenge(ResponseHead)
        case sent(Int, total: Int64, expected: Int64?)
    }

    private let lane: HedgeState.Lane
    private let transfer: HedgedTransfer
    // SAFETY: used only by the calls of one transfer, which never overlap.
    private var earlyEvents: [EarlyEvent] = []
    /// The caller's consumer; `nil` until this transfer is chosen.
    private var consumer: (any TransferConsumer)?

    init(_ lane: HedgeState.Lane, of transfer: HedgedTransfer) {
        self.lane = lane
        self.transfer = transfer
    }

    func transferDidReceiveInterim(_ head: ResponseHead) { earlyEvents.append(.interim(head)) }

    func transferDidAnswerChallenge(_ head: ResponseHead) { earlyEvents.append(.challenge(head)) }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        guard let consumer else { return earlyEvents.append(.sent(byteCount, total: total, expected: expected)) }
        consumer.transferDidSend(byteCount, total: total, expected: expected)
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        consumer = transfer.noteHead(of: lane)
        tellEarlyEvents()
        return consumer?.transferDidReceive(head) ?? .undecided
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        consumer?.transferDidReceive(content) ?? .undecided
    }

    func transferDidCompleteRead() { consumer?.transferDidCompleteRead() }

    func transferDidFinish(_ end: consuming TransferEnd) {
        consumer = transfer.noteEnd(of: lane, isRefusal: end.failure?.overload != nil)
        tellEarlyEvents()
        consumer.take()?.transferDidFinish(end)
    }

    private func tellEarlyEvents() {
        guard let consumer else { return }
        for event in earlyEvents {
            switch event {
            case .interim(let head): consumer.transferDidReceiveInterim(head)
            case .challenge(let head): consumer.transferDidAnswerChallenge(head)
            case .sent(let byteCount, let total, let expected):
                consumer.transferDidSend(byteCount, total: total, expected: expected)
            }
        }
        earlyEvents = []
    }
}
