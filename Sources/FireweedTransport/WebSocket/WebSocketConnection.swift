// One WebSocket from its connection to its end, on the loop.

#if WebSocket
import Foundation
import Glibc

/// Owns what a WebSocket consists of, and performs what its state decides.
///
/// Loop-confined. Reading is in `WebSocketConnection+Reading`, writing in `WebSocketConnection+Writing`.
final class WebSocketConnection: DeadlineEntry {
    let pool: WebSocketPool
    let message: RequestMessage
    let offer: WebSocketOffer
    /// Held until the end: it is what the user's side steers us by.
    private var transfer: WebSocketTransfer?
    var state = WebSocketState.waiting
    /// Why the WebSocket ends, when it does not end well; the first cause stays.
    private(set) var failure: TransferFailure?

    var connection: (any DedicatedConnection)?
    var shake: Handshake
    var engine: FrameEngine?
    /// What may move: the latest of the decisions that have come.
    private var flow = Flow.undecided
    var interest: SocketReadiness = []
    var sendQueue = SendQueue()
    var pings = PendingPings()
    var report = TransferReport()
    /// The peer's goodbye, once it came.
    var peerClose: (code: UInt16, reason: Data)?
    /// A later turn of the loop continues to read.
    var isReadingLater = false
    /// True once the kernel refused bytes for good; what the peer still has to say is read all the same.
    var isWriteBroken = false

    private var began: LoopInstant = 0
    private var lastActivity: LoopInstant = 0
    private var drainDeadline: LoopInstant?

    /// How long the peer may take to answer our close frame, and to close the connection after that.
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

    // MARK: What the user's side asks

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

    /// Follows a decision if it is the latest one, and says whether that changes what may move.
    func follow(_ decision: Flow) -> Bool {
        guard flow.follow(decision) else { return false }
        if mayReceive { engine?.isPaused = false }
        return true
    }

    /// Whether messages may come in.
    var mayReceive: Bool { flow.level == .running }

    // MARK: Events

    func handle(_ event: WebSocketState.Event) {
        for effect in state.handle(event) { perform(effect) }
    }

    /// Keeps a cause of the end, unless there is one or the end is settled.
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

    /// Best effort: what does not go out at once never will.
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
        // Nothing was sent, and the report says when that was.
        if began == 0 { report.startNanoseconds = WallClock.nanoseconds }
        let cause = failure ?? .closedWebSocket
        sendQueue.fail(cause)
        pings.fail(cause)
        consumer?.transferDidFinish(TransferEnd(failure, report: report))
    }

    var consumer: (any TransferConsumer)? { transfer?.consumer }

    /// Microseconds since the beginning.
    var microseconds: Int64 { Int64((pool.context.now - began) / 1000) }

    // MARK: Time

    /// The next moment at which something is due.
    private var deadline: LoopInstant? {
        [message.deadlineNanoseconds, stateDeadline, pings.deadline(isOpen: state == .open)].compactMap { $0 }.min()
    }

    /// Makes sure that the WebSocket is looked at when something is due.
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
            readOn()  // a loop that was held up is told of its timers before it is told of its sockets
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
    /// What waits in vain when a WebSocket was closed in an orderly way.
    static let closedWebSocket = TransferFailure.exchange(
        .networkConnectionLost, detail: "the WebSocket was closed", engineCode: 0)
}
#endif
