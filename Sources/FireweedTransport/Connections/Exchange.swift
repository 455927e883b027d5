// One exchange of the engine, from its start to its end.

import CLinux
import Foundation
import Glibc

/// One request message and its response; also the `TransferControl` of the transfer.
///
/// The control's methods may be called from any thread; they post to the loop. While the exchange runs, the exchange
/// and its connection hold each other; both references are released at the end.
final class Exchange: DeadlineEntry, @unchecked Sendable {
    // SAFETY: the variables are used only on the loop's thread, once `start` or `cancel` has posted the exchange; the
    // constants are `Sendable`.
    let loopPool: LoopPool
    var message: RequestMessage
    /// The consumer; released at the end, since the consumer holds the exchange.
    var consumer: (any TransferConsumer)?
    private(set) var stage = ExchangeStage.made
    /// The latest decision about the directions in which bytes may move.
    var flow = Flow.undecided
    /// Set when the exchange is cancelled on the loop's thread: nothing more is delivered before `end(_:)` runs.
    var pendingFailure: TransferFailure?
    private(set) var outcome: TransferFailure?

    // MARK: Connection

    // SAFETY: the exchange holds `loopPool`, which holds the connection pool until `loopPool` itself is released.
    unowned(unsafe) var pool: ConnectionPool?
    /// The parts of the message's URL.
    var target: RequestTarget?
    var origin: OriginPool?
    /// The exchange's place in the pool and in its origin's queue.
    // SAFETY: no method of this value calls the exchange again. Debug builds, in which the tests run, check the
    // exclusive access.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    var entry = QueueEntry()
    /// The HTTP/1.1 connection or the HTTP/2 stream that carries the exchange.
    var carrier: (any ExchangeLane)?
    /// The authentication of the exchange's messages; `nil` for most exchanges.
    var authentication: ExchangeAuthentication?
    /// The state of the exchange's Negotiate token.
    var ticket = ExchangeTicket.unasked

    // MARK: Progress

    var tries = ExchangeTries()
    // SAFETY: as for `entry`.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    var reports = ExchangeReports()
    var sending = ExchangeSending()
    var hasDeliveredHead = false
    var file = ExchangeFile.closed
    var trailers: FieldBlock?
    /// Whether content was delivered in this turn, and the consumer wants to be notified after the turn's last bytes.
    var isInBurst = false

    // MARK: Time

    /// The last moment at which a byte moved or a dialer made progress; `nil` while the idle time-out does not run.
    private var lastActivity: LoopInstant?
    /// The moment when the content is sent even without a 100 response (RFC 9110 §10.1.1).
    var continueDeadline: LoopInstant?
    /// The rate limits of the content; `nil` for none.
    private(set) var pace: ExchangePace?
    /// The rest of the response, which is discarded; `nil` while the response is wanted.
    var discarded: DiscardedRest?

    init(message: consuming RequestMessage, consumer: any TransferConsumer, loopPool: LoopPool) {
        self.message = message
        self.consumer = consumer
        self.loopPool = loopPool
    }

    // MARK: The stages

    /// Begins the exchange; false if it has begun or ended before.
    func begin(in pool: ConnectionPool) -> Bool {
        self.pool = pool
        guard stage.handle(.start) == .enter else { return false }
        // The stored time may be old: time that other work of this turn used must not count for the exchange.
        pool.context.updateNow()
        reports.begin(at: pool.context.now)
        pace = ExchangePace.make(pool.settings.options)
        return true
    }

    /// Begins to run on a connection or a stream; false if the exchange has ended.
    func attach(to carrier: any ExchangeLane) -> Bool {
        guard stage.handle(.attach) == .send else { return false }
        self.carrier = carrier
        entry.instant = pool?.context.now ?? 0
        touch()
        setTimer()
        return true
    }

    /// Leaves the connection, and enters the queue again to get a connection for the next try.
    ///
    /// - Parameters:
    ///   - isAnswered: whether a challenge or a 417 response is the cause; `tries.isRepeated` then keeps its value.
    ///   - connection: the lost connection; `nil` if any connection suits the next try.
    func sendAgain(isAnswered: Bool, lostOn connection: Connection?) {
        if let connection { tries.lostConnection = connection.number }
        guard stage.handle(.detach) == .enterAgain, let pool else { return }
        reports.beginAgain(at: pool.context.now)
        if !isAnswered { tries.isRepeated = true }
        carrier = nil
        lastActivity = nil
        continueDeadline = nil
        sending.restart()
        setTimer()
        pool.arrive(self)
    }

    /// Ends the exchange; only the first call has an effect.
    ///
    /// With `keepsConnection`, the connection can carry the next exchange.
    func end(_ failure: TransferFailure?, keepsConnection: Bool = false) {
        let effect = stage.handle(.end)
        switch effect {
        case .none, .enter, .send, .enterAgain: return
        case .report: break
        case .leaveAndReport:
            reports.current.isUnassigned = entry.dialer == nil && !entry.hasFailedDial
            origin?.leave(self)
        case .releaseAndReport:
            if failure == nil, !isDiscarding, !message.isStream, let pool {
                let now = pool.context.now
                origin?.noteResponse(after: now - min(entry.instant, now), at: now)
            }
        }
        // Once the rest of the response is being discarded, no failure is reported except a cancellation.
        if case .cancelled = failure { outcome = failure } else { outcome = isDiscarding ? nil : failure }
        let released = carrier.take()
        (sending.prepared, sending.exhaustedPump) = (nil, nil)
        file = .closed
        guard let pool else { return }
        reports.end(at: pool.context.now)
        released?.release(self, keeps: keepsConnection)
        pool.forget(self)
        origin.take()?.exchangeCount -= 1
        pool.context.atEndOfTurn(self)
    }

    /// Whether the exchange has ended or is about to, so that nothing more is delivered.
    var isStopped: Bool { pendingFailure != nil || stage == .finished }

    // MARK: Time-outs

    /// Restarts the idle time-out, since a byte moved or the connection is being made.
    func touch() {
        lastActivity = pool?.context.now
    }

    /// Stores when the exchange enters its origin's queue.
    func beginWaiting(in context: LoopContext) {
        (entry.instant, entry.turn) = (context.now, context.turnNumber)
    }

    /// Notes that a dialer was begun for the exchange: an exchange that gets a dialer at once has not waited in the
    /// queue.
    func noteDialed(in context: LoopContext) {
        if entry.turn == context.turnNumber { entry.turn = .max }
    }

    /// Stops the idle time-out, since the exchange waits for a connection.
    func forgetActivity() {
        lastActivity = nil
    }

    /// Sets the timer to the earliest of the exchange's deadlines.
    func setTimer() {
        guard let pool, let moment = nextLook else { return }
        pool.context.deadlines.lower(self, to: moment)
    }

    private var nextLook: LoopInstant? {
        var moment = message.deadlineNanoseconds
        func consider(_ other: LoopInstant?) {
            if let other { moment = min(moment ?? other, other) }
        }
        consider(idleDeadline)
        consider(discarded?.deadline)
        consider(continueDeadline)
        consider(connectionWaitEnd)
        if let pace, let pool { consider(pace.wakeUp(at: pool.context.now)) }
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
        if let due = discarded?.deadline, due <= now { return end(nil) }
        if let due = connectionWaitEnd, due <= now { return end(waitFailure) }
        let isOverdue = message.deadlineNanoseconds.map { $0 <= now } ?? false
        let isIdle = idleDeadline.map { $0 <= now } ?? false
        guard isOverdue || isIdle else { return setTimer() }
        let silent = carrier?.hasNoAnswer == true ? origin : nil
        if silent != nil { carrier?.retire() }
        end(.timedOut(isIdle: isIdle))
        // A peer that does not answer may be gone: its idle connections are closed, so that they are not tried one by
        // one.
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
