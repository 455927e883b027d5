// One exchange on our own engine, from its start to its only end.

import CLinux
import Foundation
import Glibc

/// One request message on its way out and its response on its way in; also the control of the transfer.
///
/// The control's methods may be called from any thread; they post to the loop. While the exchange runs, its connection
/// owns it and it owns the connection; the end separates them.
final class Exchange: DeadlineEntry, @unchecked Sendable {
    // SAFETY: everything that varies is touched on the loop's thread alone, once `start` or `cancel` has posted the
    // exchange; what is constant is `Sendable`.
    let loopPool: LoopPool
    var message: RequestMessage
    /// Held until the end, and no longer: the consumer holds the exchange.
    var consumer: (any TransferConsumer)?
    private(set) var stage = ExchangeStage.made
    /// What may move: the latest of the decisions that have come.
    var flow = Flow.undecided
    /// Why the exchange ends, said from inside a call of the consumer; what follows is not told any more.
    var pendingFailure: TransferFailure?
    private(set) var outcome: TransferFailure?

    // MARK: Where it is

    // SAFETY: the loopPool, which the exchange holds, holds its pool for as long as the loopPool lives.
    unowned(unsafe) var pool: ConnectionPool?
    /// The parts of the message's URL.
    var target: RequestTarget?
    var origin: OriginPool?
    /// The place in the origin's line, while the exchange waits there.
    var place: Int?
    /// The number that the exchange got when it entered the line; it keeps it when it is sent again, and while its file
    /// is opened.
    var number: Int?
    /// The place among the pool's active exchanges.
    var slot: Int?
    var isArriving = false
    /// The dialer that makes a connection for this exchange.
    var dialer: Dialer?
    /// What it runs on.
    var carrier: (any ExchangeLane)?
    /// What its messages say about who we are; `nil` for most exchanges.
    var authentication: ExchangeAuthentication?
    /// What is known of a token of Negotiate.
    var ticket = ExchangeTicket.unasked

    // MARK: What became of it

    /// True once the message was sent and is to be sent once more.
    private(set) var isRepeated = false
    /// The number of the connection on which the message was lost; `nil` for none.
    private(set) var lostConnection: Int?
    /// Whether the next try needs a connection that was made after that: what was idle beside a lost connection is
    /// about to be lost as well.
    var wantsNewConnection: Bool { lostConnection != nil }
    /// How often peers have refused the message.
    var refusals = RefusalCount()
    var hasDeliveredHead = false
    var requestContent = TransferEnd.SentContent.untouched
    /// The content of the next try, which has begun to be read.
    var preparedContent: OutgoingContent?
    /// Content that was sent whole and has an announced length, while its reader has not said that it has ended.
    var sentContent: BodyPump?
    var file = ExchangeFile.closed
    /// Whether the exchange is one of those that have their files opened and no connection yet.
    var isAhead = false
    var sentByteCount: Int64 = 0
    var trailers: FieldBlock?
    var report = TransferReport()
    private(set) var earlierReports: [TransferReport] = []
    private(set) var startInstant: LoopInstant = 0
    /// Content has come in this turn of the loop, and the consumer wants to be told when that was all.
    var isInBurst = false

    // MARK: Time

    /// The last moment at which a byte moved; `nil` while the exchange waits for a connection.
    private var lastActivity: LoopInstant?
    /// When the content is sent though no 100 came (RFC 9110 §10.1.1).
    var continueDeadline: LoopInstant?
    /// The rates of the content; `nil` for none.
    private(set) var pace: ExchangePace?
    /// How many bytes have come since the rest of the response was discarded; `nil` while it is wanted.
    var discardedByteCount: Int?
    var discardDeadline: LoopInstant?

    init(message: consuming RequestMessage, consumer: any TransferConsumer, loopPool: LoopPool) {
        self.message = message
        self.consumer = consumer
        self.loopPool = loopPool
    }

    // MARK: The stages

    /// Begins; false when there is nothing to begin.
    func begin(in pool: ConnectionPool) -> Bool {
        self.pool = pool
        guard stage.handle(.start) == .enter else { return false }
        // A task may have kept the loop's thread for a while: its time is not the exchange's.
        pool.context.updateNow()
        startInstant = pool.context.now
        pace = ExchangePace.make(pool.settings.options)
        report.startNanoseconds = WallClock.nanoseconds
        return true
    }

    /// Gets a connection, or a stream of one.
    func attach(to carrier: any ExchangeLane) -> Bool {
        guard stage.handle(.attach) == .send else { return false }
        self.carrier = carrier
        touch()
        setTimer()
        return true
    }

    /// Loses its connection, and waits for another one to send the message again.
    ///
    /// - Parameters:
    ///   - isAnswered: whether the server asked for that (417): the rule for a lost connection does not count it.
    ///   - connection: the connection that was lost; `nil` where any connection will do for the next try.
    func sendAgain(isAnswered: Bool, lostOn connection: Connection?) {
        if let connection { lostConnection = connection.number }
        guard stage.handle(.detach) == .enterAgain, let pool else { return }
        report.total = moment(pool.context.now)
        earlierReports.append(report)
        let start = report.startNanoseconds
        report = TransferReport()
        report.startNanoseconds = start
        if !isAnswered { isRepeated = true }
        carrier = nil
        lastActivity = nil
        continueDeadline = nil
        sentByteCount = 0
        sentContent = nil
        requestContent = .untouched
        setTimer()
        pool.arrive(self)
    }

    /// Ends the exchange; only the first end counts.
    ///
    /// With `keepsConnection`, the connection can carry the next exchange.
    func end(_ failure: TransferFailure?, keepsConnection: Bool = false) {
        let effect = stage.handle(.end)
        switch effect {
        case .none, .enter, .send, .enterAgain: return
        case .report: break
        case .leaveAndReport: origin?.leave(self)
        case .releaseAndReport: break
        }
        // Whatever became of a rest that was not wanted, unless it was cancelled.
        if case .cancelled = failure { outcome = failure } else { outcome = discardedByteCount == nil ? failure : nil }
        let released = carrier.take()
        preparedContent = nil
        sentContent = nil
        file = .closed
        guard let pool else { return }
        report.total = startInstant > 0 ? moment(pool.context.now) : 0
        released?.release(self, keeps: keepsConnection)
        pool.forget(self)
        origin.take()?.exchangeCount -= 1
        pool.context.atEndOfTurn(self)
    }

    /// Why the exchange ended or is about to, so that nothing more is told.
    var isStopped: Bool { pendingFailure != nil || stage == .finished }

    /// Microseconds from the start until a moment; at least one, since zero says that the moment never was.
    func moment(_ instant: LoopInstant) -> Int64 {
        max(1, Int64((max(instant, startInstant) - startInstant) / 1000))
    }

    // MARK: Looking at the clock

    /// Notes that a byte moved, or that the connection is being made.
    func touch() {
        lastActivity = pool?.context.now
    }

    /// Notes that the exchange waits for a connection.
    func forgetActivity() {
        lastActivity = nil
    }

    /// Has the exchange looked at when it may be over at the earliest.
    func setTimer() {
        guard let pool, let moment = nextLook else { return }
        pool.timers.lower(self, to: moment)
    }

    private var nextLook: LoopInstant? {
        var moment = message.deadlineNanoseconds
        for other in [
            idleDeadline, discardDeadline, continueDeadline, pool.flatMap { pace?.wakeUp(at: $0.context.now) },
        ] {
            if let other { moment = min(moment ?? other, other) }
        }
        return moment
    }

    private var idleDeadline: LoopInstant? {
        guard message.idleTimeout > 0, flow.level == .running, let lastActivity else { return nil }
        return lastActivity.addingSaturating(message.idleTimeout.nanoseconds)
    }

    override func timeReached(at now: LoopInstant) {
        guard stage == .waiting || stage == .running else { return }
        if let due = continueDeadline, due <= now {
            continueDeadline = nil
            carrier?.continueSending()
        }
        if pace?.takeDue(at: now) == true { carrier?.flowChanged() }
        guard stage == .waiting || stage == .running else { return }
        if let due = discardDeadline, due <= now { return end(nil) }
        let isOverdue = message.deadlineNanoseconds.map { $0 <= now } ?? false
        let isIdle = idleDeadline.map { $0 <= now } ?? false
        guard isOverdue || isIdle else { return setTimer() }
        let silent = carrier?.hasNoAnswer == true ? origin : nil
        if silent != nil { carrier?.retire() }
        end(.timedOut(isIdle: isIdle))
        // A peer that answers nothing may have vanished: its other connections are not tried one after another.
        silent?.closeIdle()
    }
}

extension TransferFailure {
    fileprivate static func timedOut(isIdle: Bool) -> TransferFailure {
        .exchange(
            .timedOut,
            detail: isIdle ? "no byte moved within the idle time-out" : "the time for the whole exchange is over",
            engineCode: Int(ETIMEDOUT))
    }
}
