// One WebSocket, from connecting to its end, on the loop's thread.

#if WebSocket
import Foundation
import Glibc

/// Owns the parts of a WebSocket, and performs the effects of its state machine.
///
/// Loop-confined. `WebSocketConnection+Reading` reads, and `WebSocketConnection+Writing` writes.
final class WebSocketConnection: DeadlineEntry {
    let pool: WebSocketPool
    let message: RequestMessage
    let offer: WebSocketOffer
    /// Retained until the end, because the user controls the WebSocket with it.
    private var transfer: WebSocketTransfer?
    var state = WebSocketState.waiting
    /// The cause of the failure; the first cause is kept.
    private(set) var failure: TransferFailure?

    var connection: (any DedicatedConnection)?
    var shake: Handshake
    var engine: FrameEngine?
    /// The latest flow decision, which says whether messages may be received.
    private var flow = Flow.undecided
    var interest: SocketReadiness = []
    var sendQueue = SendQueue()
    var pings = PendingPings()
    var report = TransferReport()
    /// The peer's close frame, once it has arrived.
    var peerClose: (code: UInt16, reason: Data)?
    /// Whether a read is scheduled for a later loop iteration.
    var isReadingLater = false
    /// True once a write has failed; bytes from the peer are still read.
    var isWriteBroken = false

    private var began: LoopInstant = 0
    private var lastActivity: LoopInstant = 0
    private var drainDeadline: LoopInstant?

    /// `closeTime` is the longest wait for the peer's close frame, `drainTime` the longest wait for the end of the
    /// connection.
    private static let closeTime: LoopInstant = 10_000_000_000
    private static let drainTime: LoopInstant = 2_000_000_000

    init(_ transfer: WebSocketTransfer, pool: WebSocketPool) {
        self.transfer = transfer
        self.pool = pool
        var message = transfer.message
        if let writing = pool.settings.options.fieldWriting {
            message.fields = FieldBlock(writing.lines(of: message.fields.fields))
        }
        self.message = message
        offer = transfer.offer
        shake = Handshake(
            message: message, offer: transfer.offer, headLimit: pool.settings.options.maximumHeaderByteCount)
        super.init()
    }

    // MARK: Calls of the user

    func start() {
        if pool.isShutDown { return cancel() }
        handle(.start)
    }

    func cancel() {
        fail(.cancelled, .cancel)
    }

    func close(code: UInt16, reason: Data) {
        if state == .connecting || state == .shaking { note(.cancelled) }
        sendQueue.closing = (code, reason)
        handle(.closeAsked)
    }

    func setFlow(_ decision: Flow) {
        guard follow(decision) else { return }
        if mayReceive {
            touch()
            readOn()
        }
        updateInterest()
    }

    /// Follows a decision if it is newer than the current one; returns whether it changes what may be received.
    func follow(_ decision: Flow) -> Bool {
        guard flow.follow(decision) else { return false }
        if mayReceive { engine?.isPaused = false }
        return true
    }

    /// Whether messages may be received.
    var mayReceive: Bool { flow.level == .running }

    // MARK: Events

    func handle(_ event: WebSocketState.Event) {
        for effect in state.handle(event) { perform(effect) }
    }

    /// Keeps a cause of the failure, unless there is one already or the outcome is settled.
    func note(_ cause: TransferFailure) {
        if state.isOutcomeOpen { failure = failure ?? cause }
    }

    func fail(_ cause: TransferFailure, _ event: WebSocketState.Event = .failed) {
        note(cause)
        handle(event)
    }

    func touch() {
        lastActivity = pool.context.now
    }

    private func perform(_ effect: WebSocketState.Effect) {
        switch effect {
        case .dial: dial()
        case .shake: sendHandshake()
        case .announceOpen: open()
        case .queueClose:
            touch()
            flush()
            setTimer()
        case .announceClose: peerClose.map { offer.listener.webSocketDidClose(code: $0.code, reason: $0.reason) }
        case .drain: drain()
        case .farewell: farewell()
        case .hangUp: hangUp()
        case .report: reportEnd()
        }
    }

    private func dial() {
        if began == 0 {
            began = pool.context.now
            report.startNanoseconds = WallClock.nanoseconds
            pool.add(self)
        }
        touch()
        let made = pool.makeConnection(message, self)
        connection = made
        interest = []
        made.dial()
        setTimer()
    }

    private func open() {
        guard let transfer, let agreement = shake.agreement else { return }
        engine = FrameEngine(
            receiver: self, maximumMessageByteCount: offer.maximumMessageByteCount, compression: agreement.compression)
        pings.begin(every: offer.pingInterval, now: pool.context.now)
        setTimer()
        offer.listener.webSocketDidOpen(transfer, subprotocol: agreement.subprotocol)
    }

    private func drain() {
        drainDeadline = pool.context.now + Self.drainTime
        sendQueue.fail(failure ?? .closedWebSocket)
        setTimer()
        flush()
    }

    /// Sends a close frame with code 1001, best effort: if it cannot be sent at once, it is never sent.
    private func farewell() {
        guard sendQueue.closing == nil, let engine else { return }
        engine.queueClose(code: 1001, reason: Data())
        flush()
    }

    private func hangUp() {
        report.total = microseconds
        connection?.hangUp()
        connection = nil
    }

    private func reportEnd() {
        let consumer = transfer?.consumer
        transfer?.consumer = nil
        transfer = nil
        pool.remove(self)
        // For the report, a WebSocket that never began to connect starts now.
        if began == 0 { report.startNanoseconds = WallClock.nanoseconds }
        let cause = failure ?? .closedWebSocket
        sendQueue.fail(cause)
        pings.fail(cause)
        consumer?.transferDidFinish(TransferEnd(failure, report: report))
    }

    var consumer: (any TransferConsumer)? { transfer?.consumer }

    /// Microseconds since the start.
    var microseconds: Int64 { Int64((pool.context.now - began) / 1000) }

    // MARK: Time

    /// The next time at which something is due.
    private var deadline: LoopInstant? {
        [message.deadlineNanoseconds, stateDeadline, pings.deadline(isOpen: state == .open)].compactMap { $0 }.min()
    }

    /// Makes the loop call `timeReached(at:)` at the next deadline or earlier.
    private func setTimer() {
        guard state != .finished, let deadline else { return }
        pool.context.deadlines.lower(self, to: deadline)
    }

    private var stateDeadline: LoopInstant? {
        switch state {
        case .connecting, .shaking:
            guard message.idleTimeout > 0, flow.level != .suspended else { return nil }
            return lastActivity.addingSaturating(message.idleTimeout.nanoseconds)
        case .closing: return lastActivity + Self.closeTime
        case .draining: return drainDeadline
        case .waiting, .open, .finished: return nil
        }
    }

    override func timeReached(at now: LoopInstant) {
        look(at: now)
        setTimer()
    }

    private func look(at now: LoopInstant) {
        if let due = message.deadlineNanoseconds, due <= now {
            return fail(.timedOut("the time for the whole exchange is over"))
        }
        if let due = stateDeadline, due <= now { return fail(.timedOut("the peer did not answer within the time-out")) }
        if state == .open, let due = pings.deadline(isOpen: true), due <= now { pingAutomatically() }
    }

    private func pingAutomatically() {
        if offer.requiresPongs, pings.isAutomaticPingOpen, mayReceive {
            readOn()  // a delayed loop handles timers before sockets: the pong may have arrived
            guard state == .open else { return }
            if pings.isAutomaticPingOpen { return fail(.timedOut("a ping was not answered")) }
        }
        if let payload = pings.addAutomatic(now: pool.context.now) { engine?.queuePing(payload) }
        flush()
    }
}

extension WebSocketConnection: DedicatedConnectionOwner {
    func connectionDidProgress() { touch() }

    func connectionDidOpen() {
        touch()
        connection?.fill(&report, since: began)
        handle(.connected)
    }

    func connectionDidFail(_ failure: TransferFailure) {
        connection?.fill(&report, since: began)
        fail(failure)
    }

    func connectionIsReady() {
        touch()
        flush()
        readOn()
    }
}

extension TransferFailure {
    /// The failure of pending messages and pings after a WebSocket was closed properly.
    static let closedWebSocket = TransferFailure.exchange(
        .networkConnectionLost, detail: "the WebSocket was closed", engineCode: 0)
}
#endif
