// The walk of an attempt's messages and responses through the chain.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

extension Attempt {
    /// The position of a walk: the link that it has reached, on the way out or back.
    enum ChainPosition: Sendable {
        case out(Int)
        case back(Int, ResponseHead)
    }

    /// A walk that waits for a link's decision.
    struct PendingDecision {
        let number: Int
        let place: ChainPosition
        var exchange: ChainContext
        /// Notifies the link that its decision is not needed any more.
        var stop: (@Sendable () -> Void)?
    }

    /// What follows once the present response is abandoned.
    enum Replacement {
        indirect case message(OutgoingMessage)
        /// The answer that the link with this index gave instead of the wire.
        case answer(LocalAnswer, link: Int)
    }

    /// What a link does about a failure.
    enum Recovery {
        case next(Replacement)
        case failure(TransferFailure)
    }

    // MARK: Out

    /// Sends the present message down the chain.
    func launch() {
        let exchange = state.withLock { $0.exchange }
        // A `URLProtocol` class may know another scheme; it is not asked for a WebSocket.
        let isForWire = core.protocolClasses == nil || exchange.webSocket != nil
        if isForWire, let violation = exchange.schemeViolation { return fail(with: violation) }
        walkOut(from: 0, exchange)
    }

    private func walkOut(from start: Int, _ exchange: consuming ChainContext) {
        var exchange = exchange
        for index in start..<links.indices.upperBound {
            let decision = links[index].send(&exchange, for: self)
            guard case .pass = decision else { return follow(decision, at: .out(index), exchange) }
        }
        send(exchange)
    }

    /// Sends a message that every link has passed.
    private func send(_ exchange: consuming ChainContext) {
        guard exchange.webSocket == nil || core.transport.abilities.contains(.webSockets) else {
            return fail(with: .reported(MissingAbility.webSockets))
        }
        var wire = exchange.wire
        wire.fields = exchange.fields
        wire.credentials = exchange.transportCredentials
        wire.idleTimeout = core.settings.idleTimeout(of: record.existing)
        wire.deadlineNanoseconds = deadlineNanoseconds
        wire.wantsReadComplete = gathersContent
        start(core.transport.makeTransfer(of: wire, for: self), of: exchange)
    }

    private func start(
        _ control: any TransferControl, of exchange: consuming ChainContext,
        answering answer: (LocalAnswer, link: Int)? = nil
    ) {
        let leads = exchange.lead != nil
        handle(.sends) { state in
            state.exchange = exchange
            state.source = answer?.0.source ?? .network
            state.answeringLink = answer?.link
            state.control = control
        }
        if leads, isSuspended { endFetch(.handedOver) }
    }

    // MARK: Back

    /// Sends the head of a response up the chain, to the links that it concerns; then asks the request, if it wants
    /// heads.
    func walkBack(_ head: ResponseHead) {
        var (exchange, answeringLink) = state.withLock { ($0.exchange, $0.answeringLink) }
        if answeringLink == nil {
            for index in links.indices where links.concerns(head, at: index) {
                links[index].observe(head, in: &exchange, for: self)
            }
            // Whatever becomes of the response: its cookies count.
            if !exchange.deferredWork.isEmpty {
                state.withLock { [exchange] in $0.exchange.deferredWork = exchange.deferredWork }
            }
        }
        walkBack(head, from: (answeringLink ?? links.indices.upperBound) - 1, exchange, isInCall: true)
    }

    /// Asks the links about a response head, from the link at `start` outward.
    ///
    /// `isInCall` is true inside the transport's call that delivered the head: the result of that call then tells the
    /// transport what may move.
    private func walkBack(_ head: ResponseHead, from start: Int, _ exchange: consuming ChainContext, isInCall: Bool) {
        var exchange = exchange
        for index in stride(from: start, through: 0, by: -1)
        where exchange.awaitsHead || links.concerns(head, at: index) {
            let decision = links[index].receive(head, in: &exchange, for: self)
            guard case .pass = decision else { return follow(decision, at: .back(index, head), exchange) }
        }
        state.withLock { [exchange] in $0.exchange = exchange }
        show(head, isInCall: isInCall)
    }

    /// Shows the head to the request where the request wants to see it, and follows its decision.
    func show(_ head: ResponseHead, isInCall: Bool) {
        guard let request = owningRequest, request.wantsHead else {
            // A link may have asked somebody about it.
            return perform(state.withLock { $0.handle(.delivers).union($0.handle(.passes)) })
        }
        // First: the request's decision may come before this method continues.
        handle(.asks)
        switch request.attempt(self, didReceive: head) {
        case .proceed: handle(.passes, withholding: isInCall ? .setFlow : [])
        case .wait: endFetch(.handedOver)
        }
    }

    /// The message or answer that replaces a missing response; `nil` when the failure is final.
    func recovery(from failure: TransferFailure) -> Recovery? {
        var exchange = state.withLock { $0.exchange }
        for index in links.indices.reversed() {
            switch links[index].recover(from: failure, in: &exchange, for: self) {
            case .pass, .wait, .later: continue
            case .answer(let answer): return .next(.answer(answer, link: index))
            case .again(let message): return .next(.message(message))
            case .fail(let failure): return .failure(failure)
            }
        }
        return nil
    }

    // MARK: Decisions

    /// Performs a link's decision.
    func follow(_ decision: Decision, at place: ChainPosition, _ exchange: consuming ChainContext) {
        switch (decision, place) {
        case (.pass, .out(let index)): walkOut(from: index + 1, exchange)
        case (.pass, .back(let index, let head)): walkBack(head, from: index - 1, exchange, isInCall: false)
        case (.wait(let wait), _): self.wait(wait, at: place, exchange)
        case (.later(let queue, let decide), _):
            guard let number = keep(at: place, exchange) else { return }
            queue.async { [self] in resume(number, decide) }
        case (.answer(let answer), .out(let index)):
            start(answer.makeTransfer(self), of: exchange, answering: (answer, index))
        case (.answer(let answer), .back(let index, _)): leave(exchange, for: .answer(answer, link: index))
        case (.again(let message), .out): walkOut(from: 0, ChainContext(message))
        case (.again(let message), .back): leave(exchange, for: .message(message))
        case (.fail(let failure), .out):
            state.withLock { state in
                state.exchange = exchange
                if exchange.isUnsent { state.source = .notSent }
            }
            fail(with: failure)
        case (.fail(let failure), .back): cancel(with: failure)
        }
    }

    /// Abandons the present response for another message or answer.
    private func leave(_ exchange: consuming ChainContext, for next: Replacement) {
        handle(.leaves(isRecorded: exchange.recorder != nil)) { state in
            state.exchange = exchange
            state.next = next
        }
    }

    private func wait(_ wait: Wait, at place: ChainPosition, _ exchange: consuming ChainContext) {
        guard let number = keep(at: place, exchange) else { return }
        let stop = wait.begin { [self] decide in resume(number, decide) }
        let isOver = state.withLock { state in
            guard state.pending?.number == number else { return true }
            state.pending?.stop = stop
            return false
        }
        // Decided or cancelled meanwhile: the link need not know which.
        if isOver { stop() }
    }

    /// Keeps the walk until a link decides.
    ///
    /// - Returns: the number under which the walk is continued; `nil` when the attempt is over.
    private func keep(at place: ChainPosition, _ exchange: ChainContext) -> Int? {
        let event: AttemptState.Event = if case .out = place { .waits } else { .asks }
        var number: Int?
        handle(event) { state in
            guard !state.life.isCancelled, state.life.stage != .ended else { return }
            state.waitCount += 1
            number = state.waitCount
            state.pending = PendingDecision(number: state.waitCount, place: place, exchange: exchange)
        }
        return number
    }

    /// Continues a walk that waited; only the first call with a number has an effect.
    private func resume(_ number: Int, _ decide: @Sendable (inout ChainContext) -> Decision) {
        let pending = state.withLock { state -> PendingDecision? in
            // A cancel ends the wait before it takes the walk away: what the link decides then is not wanted.
            guard state.pending?.number == number, !state.life.isCancelled, state.life.stage != .ended else {
                return nil
            }
            _ = state.handle(.wakes)
            return state.pending.take()
        }
        guard var pending else { return }
        let decision = decide(&pending.exchange)
        follow(decision, at: pending.place, pending.exchange)
    }

    /// Sends the message, or gives the answer, that follows an abandoned response; on the session's queue.
    func proceed() {
        beginDeferredWork()
        // What was to be stored of the response is stored.
        endFetch(state.withLock { $0.head == nil ? .handedOver : .stored })
        let next = state.withLock { state -> Replacement? in
            guard let next = state.next.take() else { return nil }
            state.control = nil
            state.source = .network
            state.answeringLink = nil
            state.transferEnd = nil
            state.leftByteCount = 0
            state.head = nil
            state.response = nil
            if case .message(let message) = next { state.exchange = ChainContext(message) }
            return next
        }
        switch next {
        case .message: launch()
        case .answer(let answer, let link):
            start(answer.makeTransfer(self), of: state.withLock { $0.exchange }, answering: (answer, link))
        case nil: break
        }
    }

    // MARK: Deferred work

    /// Whether links have deferred work that has not begun.
    var hasDeferredWork: Bool { state.withLock { !$0.exchange.deferredWork.isEmpty } }

    /// Begins the work that links have deferred, unless it has begun.
    func beginDeferredWork() {
        let (deferredWork, group) = state.withLock { state -> ([ChainContext.DeferredWork], DispatchGroup?) in
            guard !state.exchange.deferredWork.isEmpty else { return ([], nil) }
            let group = state.deferredWork ?? DispatchGroup()
            state.deferredWork = group
            defer { state.exchange.deferredWork = [] }
            return (state.exchange.deferredWork, group)
        }
        guard let group else { return }
        for work in deferredWork { work(group) }
    }

    /// Calls `body` when deferred work is done: immediately when there is none, else on `queue`.
    func afterDeferredWork(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        beginDeferredWork()
        // Without waiting: most of it is done already.
        guard let deferredWork = state.withLock({ $0.deferredWork }), deferredWork.wait(timeout: .now()) == .timedOut
        else {
            return body()
        }
        deferredWork.notify(queue: queue, execute: body)
    }
}
