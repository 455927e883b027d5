// The changing state of an attempt.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

extension Attempt {
    /// The mutable state of an attempt; used only under the attempt's lock.
    ///
    /// Other files read the state, and change it only by the methods below, except for `task`. `AttemptState` is the
    /// table of events and stages; each method changes the data for one event.
    struct State {
        private(set) var owner: Owner?
        private(set) var life = AttemptState()
        private(set) var control: (any TransferControl)?
        /// The present message and its response so far.
        private(set) var context: ChainContext
        private(set) var head: ResponseHead?
        /// The link that gave the present response; `nil` for a response from the wire.
        private(set) var answeringLink: Int?
        /// The source of the present response.
        private(set) var source = AnswerSource.network
        private(set) var records = TinyArray<ExchangeRecord>()
        /// The first cause of the attempt's end; a failure of the transfer is copied here when the attempt ends.
        private(set) var failure: TransferFailure?
        /// The message or answer that follows once the present response is abandoned.
        private(set) var next: Replacement?
        private(set) var counters = TransferCounters()
        /// The number of times that the owner's buffer has reported room.
        private(set) var roomCount = 0
        var task = TaskFacade()

        /// The number of outer links that let the present exchange pass and do not know its outcome yet.
        private var passed = 0
        /// The number of the request's latest `suspend()` or `resume()` that the attempt has followed.
        private var intentNumber: UInt64 = 0
        /// A walk that waits for a link's decision.
        private var pending: PendingDecision?
        /// The number of walks that have waited so far.
        private var waitCount = 0
        /// The failure of the present transfer; `nil` while the transfer runs, and if it succeeded.
        private var transferFailure: TransferFailure?
        /// The trailers of the present response.
        private(set) var trailers: FieldBlock?
        /// The group that links' deferred work enters while it runs; `nil` before the first such work.
        private var deferredWork: DispatchGroup?

        init(owner: Owner, context: ChainContext) {
            self.owner = owner
            self.context = context
        }
    }

    /// The byte counts of an attempt.
    struct TransferCounters {
        fileprivate(set) var received: Int64 = 0
        /// Bytes that an earlier download has stored: the response brings only the rest.
        fileprivate(set) var firstByteOffset: Int64 = 0
        fileprivate(set) var sent: Int64 = 0
        fileprivate(set) var expectedToSend: Int64?
        /// Content bytes that came after the response was abandoned.
        fileprivate var afterAbandonment = 0

        /// Bytes of the whole content received so far, including those of an earlier download.
        var completed: Int64 { firstByteOffset + received }
    }

    /// The properties of the attempt's `URLSessionTask` that the attempt itself does not need.
    struct TaskFacade {
        weak var task: URLSessionTask?
        /// The task again, from its first access while the attempt runs to the end: without a reference to it, each
        /// event would get another one.
        var keptTask: URLSessionTask?
        /// The settings of the task; `nil` until they are first read or written.
        var settings: TaskSettings?
        /// The progress of the task; `nil` until it is first read.
        var progress: Progress?
        /// Foundation's form of the present head; `nil` until it is first read.
        var response: HTTPURLResponse?
        /// The request that the task shows while a `URLProtocol` class is asked about it, or made for it.
        var protocolOffer: ProtocolOffer?
    }

    /// The owner, failure and outcome with which an attempt ends.
    struct Ending {
        let owner: Owner?
        let failure: TransferFailure?
        /// The outcome of the last exchange.
        let outcome: ExchangeOutcome
        /// The task that was kept, to be released outside the lock.
        let task: URLSessionTask?
    }
}

// MARK: - Life

extension Attempt.State {
    var message: OutgoingMessage { context.message }

    /// Whether the attempt has ended, or is to end.
    var isOver: Bool { life.isCancelled || life.stage == .ended }

    /// Feeds an event to the table.
    ///
    /// When the attempt ends without an earlier cause, the failure of the transfer becomes the cause of the end.
    mutating func handle(_ event: AttemptState.Event) -> AttemptState.Effects {
        let effects = life.handle(event)
        if effects.contains(.end) { failure = failure ?? transferFailure }
        return effects
    }

    /// Notes why the attempt is to end; the first cause stays.
    mutating func fail(_ cause: TransferFailure) {
        if life.stage != .ended { failure = failure ?? cause }
    }

    /// Suspends or resumes the attempt by a decision of its request, unless the attempt follows a later decision.
    mutating func follow(isSuspended: Bool, number: UInt64) -> AttemptState.Effects {
        guard number > intentNumber else { return [] }
        intentNumber = number
        return isSuspended ? handle(.suspend) : handle(.resume).union(handle(.start))
    }

    mutating func removeOwner() { owner = nil }

    /// Removes the owner and returns the data for the end; adds a record if the attempt sent nothing, since every ended
    /// attempt has metrics.
    mutating func takeEnding() -> Attempt.Ending {
        control = nil
        context.recorder = nil
        if records.isEmpty { note(TransferReport(), head: nil, fields: message.fields) }
        var outcome = failure == nil ? ExchangeOutcome.answered : .abandoned
        if !life.isCancelled, let cause = transferFailure { outcome = .failed(cause) }
        return Attempt.Ending(
            owner: owner.take(), failure: failure, outcome: outcome, task: task.keptTask.take())
    }

    private mutating func note(_ report: TransferReport, head: ResponseHead?, fields: FieldBlock) {
        var report = report
        // An exchange that ended before a transport took it has no start time: the present time is used.
        if report.startNanoseconds == 0 { report.startNanoseconds = WallClock.nanoseconds }
        records.append(
            ExchangeRecord(
                url: context.url, method: context.method, fields: fields, head: head, report: report, source: source))
    }
}

// MARK: - Out and back

extension Attempt.State {
    /// Begins a transfer: of a message over the wire, or of an answer from another source.
    ///
    /// `passed` is the number of links that let the message pass; an answer comes from the link after them.
    mutating func begin(
        _ control: any TransferControl, of context: ChainContext, passing passed: Int, from answer: AnswerSource?
    ) {
        (self.context, self.control, self.passed) = (context, control, passed)
        (answeringLink, source) = answer.map { (passed, $0) } ?? (nil, .network)
    }

    /// Returns the exchange, whose links from the innermost to the link at `last` are notified next; no link is
    /// notified twice.
    ///
    /// - Returns: the exchange, the number of links that do not know its outcome, and whether these links may replace
    ///   the exchange.
    mutating func conclude(downTo last: Int) -> (ChainContext, passed: Int, mayReplace: Bool) {
        let ended = (context, passed, lacksResponse)
        (passed, context.lead) = (min(passed, last), nil)
        return ended
    }

    /// Notes that only the links before `index` still wait for an outcome: the outcome of the replacement.
    mutating func setPassed(_ index: Int) { passed = index }

    /// Keeps a walk until its link decides; returns its number, or `nil` when the attempt is over.
    mutating func wait(at position: Attempt.ChainPosition, _ context: ChainContext) -> Int? {
        guard !isOver else { return nil }
        waitCount += 1
        pending = Attempt.PendingDecision(number: waitCount, position: position, context: context)
        return waitCount
    }

    /// Stores the closure that stops a link's deferred decision; returns false when the walk does not wait any more.
    mutating func setStop(_ stop: @escaping @Sendable () -> Void, ofWalk number: Int) -> Bool {
        guard pending?.number == number else { return false }
        pending?.stop = stop
        return true
    }

    /// Takes a waiting walk to continue it; `nil` when another call has taken the walk, or when the attempt is over.
    ///
    /// A cancel first sets `isOver` and takes the walk afterwards: a decision in between has no effect.
    mutating func wake(walk number: Int) -> Attempt.PendingDecision? {
        guard pending?.number == number, !isOver else { return nil }
        _ = handle(.wakes)
        return pending.take()
    }

    mutating func takePending() -> Attempt.PendingDecision? { pending.take() }

    mutating func setContext(_ context: ChainContext) { self.context = context }

    /// Keeps the context of a message that a link refused to send.
    mutating func refuse(_ context: ChainContext) {
        self.context = context
        if context.isUnsent { source = .notSent }
    }

    /// Abandons the present response for another message or answer.
    mutating func leave(_ context: ChainContext, for next: Attempt.Replacement) {
        (self.context, self.next) = (context, next)
    }

    /// Takes the message or answer that follows, and forgets the response before it.
    mutating func takeNext() -> Attempt.Replacement? {
        guard let next = next.take() else { return nil }
        (control, source, answeringLink, head, task.response) = (nil, .network, nil, nil, nil)
        (transferFailure, trailers) = (nil, nil)
        counters.afterAbandonment = 0
        if case .message(let message) = next { context = ChainContext(message) }
        return next
    }
}

// MARK: - The transfer

/// The treatment of received content bytes, as decided under the lock.
struct Delivery {
    /// Whether the owner gets the piece.
    fileprivate(set) var isWanted = false
    /// Whether an abandoned response has brought more than `abandonedLimit` bytes.
    fileprivate(set) var isTooLong = false
    fileprivate(set) var request: Request?
    fileprivate(set) var progress: Progress?
    fileprivate(set) var recorder: ResponseRecorder?
    let roomCount: Int
    let flow: Flow
}

extension Attempt.State {
    /// The maximum number of bytes of an abandoned response that are read in order to store it: 64 KiB.
    private static let abandonedLimit = 64 * 1024

    mutating func setHead(_ head: ResponseHead) { self.head = head }

    /// Sets the head of a response from a `URLProtocol`, and Foundation's form of that response.
    mutating func setHead(_ head: ResponseHead, shownAs response: HTTPURLResponse) {
        (self.head, task.response) = (head, response)
    }

    mutating func setSource(_ source: AnswerSource) { self.source = source }

    mutating func noteAnsweredChallenge(_ head: ResponseHead) {
        context.answeredChallenge = head
        context.awaitsHead = true
    }

    mutating func noteRoom() { roomCount += 1 }

    mutating func startCounting(at offset: Int64) { counters.firstByteOffset = offset }

    mutating func noteSent(_ total: Int64, expected: Int64?) {
        (counters.sent, counters.expectedToSend) = (total, expected)
    }

    mutating func delivery(of byteCount: Int) -> Delivery {
        var delivery = Delivery(roomCount: roomCount, flow: life.holds.flow)
        delivery.recorder = context.recorder
        switch life.stage {
        // `.sent` is included, since a `URLProtocol` may give content without a response.
        case .delivering, .sent:
            counters.received += Int64(byteCount)
            (delivery.isWanted, delivery.request, delivery.progress) = (true, owner?.request, task.progress)
        case .leaving where delivery.recorder != nil:
            counters.afterAbandonment += byteCount
            guard counters.afterAbandonment > Self.abandonedLimit else { break }
            context.recorder = nil
            (delivery.isTooLong, delivery.recorder) = (true, nil)
        case .ready, .preparing, .waiting, .deciding, .leaving, .saving, .cancelling, .ended: break
        }
        return delivery
    }

    /// Whether no head has come over the wire and the attempt has no failure: a link may still replace the exchange.
    var lacksResponse: Bool {
        life.stage == .sent && failure == nil && head == nil && answeringLink == nil
    }

    /// Notes the end of the transfer, and falls back to `replacement`, if it is not `nil`.
    mutating func finish(_ end: TransferEnd, replacedBy replacement: Attempt.Replacement?) -> AttemptState.Effects {
        for report in end.earlierReports { note(report, head: head, fields: context.fields) }
        note(end.report, head: head, fields: context.fields)
        (transferFailure, trailers) = (end.failure, end.trailers)
        if let replacement, life.stage == .sent {
            next = replacement
            return handle(.fallsBack)
        }
        return handle(.finishes(hasFailed: end.failure != nil, isRecorded: context.recorder != nil))
    }
}

// MARK: - Storing and deferred work

extension Attempt.State {
    /// Stores the response's content with `recorder` as the content comes.
    mutating func record(with recorder: ResponseRecorder?, _ work: [ChainContext.DeferredWork]) {
        context.recorder = recorder
        context.deferredWork += work
    }

    mutating func takeRecorder() -> ResponseRecorder? { context.recorder.take() }

    mutating func takeLead() -> FetchLeader? { context.lead.take() }

    mutating func setDeferredWork(_ work: [ChainContext.DeferredWork]) { context.deferredWork = work }

    /// Takes the work that links have deferred, with the group that this work enters; `nil` if there is none.
    mutating func takeDeferredWork() -> (work: [ChainContext.DeferredWork], group: DispatchGroup)? {
        guard !context.deferredWork.isEmpty else { return nil }
        let group = deferredWork ?? DispatchGroup()
        deferredWork = group
        defer { context.deferredWork = [] }
        return (context.deferredWork, group)
    }

    /// The group that deferred work enters while it runs; `nil` if there was no such work.
    var deferredWorkGroup: DispatchGroup? { deferredWork }
}
