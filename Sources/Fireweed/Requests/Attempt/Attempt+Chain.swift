// The walk of an attempt's messages and responses through the chain.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

extension Attempt {
    /// The link that a walk has reached, on the way out to the transport or back to the request.
    enum ChainPosition: Sendable {
        case out(Int)
        case back(Int, ResponseHead)
    }

    /// A walk that waits for a link's decision.
    struct PendingDecision {
        let number: Int
        let position: ChainPosition
        var context: ChainContext
        /// Notifies the link that its decision is not needed any more.
        var stop: (@Sendable () -> Void)?
    }

    /// The message or answer that replaces an abandoned or missing response.
    enum Replacement {
        indirect case message(OutgoingMessage)
        /// An answer from the link with this index, instead of a response from the network.
        case answer(LocalAnswer, link: Int)
    }

    // MARK: Out

    /// Sends the present message down the chain.
    func launch() {
        let context = state.withLock { $0.context }
        // The scheme is not checked if a `URLProtocol` class may handle it. No class is asked about a WebSocket.
        let isForWire = core.protocolClasses == nil || context.webSocket != nil
        if isForWire, let violation = context.schemeViolation { return fail(with: violation) }
        walkOut(from: 0, context)
    }

    private func walkOut(from start: Int, _ context: consuming ChainContext) {
        var context = context
        for index in start..<links.indices.upperBound {
            let decision = links[index].send(&context, for: self)
            guard case .pass = decision else {
                return follow(decision, at: .out(index), consume context)
            }
        }
        send(consume context)
    }

    /// Hands the message to the transport, after every link has let it pass.
    private func send(_ context: consuming ChainContext) {
        guard context.webSocket == nil || core.transport.abilities.contains(.webSockets) else {
            return fail(with: .reported(MissingAbility.webSockets))
        }
        start(core.transport.makeTransfer(of: wire(of: context), for: self), of: consume context)
    }

    /// The message for the transport, with the fields that links added.
    private func wire(of context: borrowing ChainContext) -> RequestMessage {
        var wire = context.wire
        wire.fields = context.fields
        wire.credentials = context.transportCredentials
        wire.clientCertificate = context.clientCertificate
        wire.idleTimeout = core.settings.idleTimeout(of: record.existing)
        wire.deadlineNanoseconds = deadlineNanoseconds
        wire.wantsReadComplete = gathersContent
        demands.complete(&wire)
        if core.identifiesMessages {
            wire.owner = owningRequest?.nextMessageOwner(attemptNumber: demands.attemptNumber)
        }
        return wire
    }

    private func start(
        _ control: any TransferControl, of context: consuming ChainContext,
        answering answer: (LocalAnswer, link: Int)? = nil
    ) {
        let count = links.indices.upperBound
        handle(.sends) { [context] in
            $0.begin(control, of: context, passing: answer?.link ?? count, from: answer?.0.source)
        }
    }

    // MARK: Back

    /// Sends the head of a response up the chain, to the links that the head concerns; then asks the request, if the
    /// request wants heads.
    func walkBack(_ head: ResponseHead) {
        var (context, answeringLink) = state.withLock { ($0.context, $0.answeringLink) }
        if answeringLink == nil {
            for index in links.indices where links.concerns(head, at: index) {
                links[index].observe(head, in: &context, for: self)
            }
            // Storing cookies is deferred work. It is noted now, so that it also runs when a link abandons the
            // response.
            if !context.deferredWork.isEmpty {
                state.withLock { [context] in $0.setDeferredWork(context.deferredWork) }
            }
        }
        walkBack(head, from: (answeringLink ?? links.indices.upperBound) - 1, context, isInCall: true)
    }

    /// Asks the links about a response head, from the link at `start` outward.
    ///
    /// `isInCall` is true inside the transport's call that delivered the head: the flow that this call returns then
    /// tells the transport which bytes may move.
    private func walkBack(_ head: ResponseHead, from start: Int, _ context: consuming ChainContext, isInCall: Bool) {
        var context = context
        for index in stride(from: start, through: 0, by: -1)
        where context.awaitsHead || links.concerns(head, at: index) {
            let decision = links[index].receive(head, in: &context, for: self)
            guard case .pass = decision else { return follow(decision, at: .back(index, head), context) }
        }
        state.withLock { [context] in $0.setContext(context) }
        show(head, isInCall: isInCall)
    }

    /// Shows the head to the request, if the request wants heads, and follows the request's decision.
    func show(_ head: ResponseHead, isInCall: Bool) {
        guard let request = owningRequest, request.wantsHead else {
            // `.delivers` has an effect if every link decided immediately, `.passes` if a link deferred its decision.
            return perform(state.withLock { $0.handle(.delivers).union($0.handle(.passes)) })
        }
        // `.asks` comes first: the request may call `allow()` before it returns its decision.
        handle(.asks)
        switch request.attempt(self, didReceive: head) {
        case .proceed: handle(.passes, withholding: isInCall ? .setFlow : [])
        case .wait: handOver()
        }
    }

    /// Notifies the links, from the innermost to the link at `last`, of the outcome of the exchange.
    ///
    /// - Returns: the first replacement that a link gives for an exchange without a response; the links further out
    ///   are not notified then.
    @discardableResult
    func conclude(_ outcome: ExchangeOutcome, downTo last: Int = 0) -> Replacement? {
        let (context, passed, mayReplace) = state.withLock { $0.conclude(downTo: last) }
        for index in stride(from: passed - 1, through: last, by: -1) {
            guard let recovery = links[index].ended(outcome, of: context, for: self), mayReplace else { continue }
            state.withLock { $0.setPassed(index) }
            switch recovery {
            case .answer(let answer): return .answer(answer, link: index)
            case .again(let message): return .message(message)
            }
        }
        return nil
    }

    /// Passes the lead of a coalesced fetch to a request that waits for this response, because this attempt is paused.
    func handOver() {
        state.withLock { $0.takeLead() }?.end(.handedOver)
    }

    // MARK: Decisions

    /// Performs a link's decision.
    func follow(_ decision: Decision, at position: ChainPosition, _ context: consuming ChainContext) {
        switch (decision, position) {
        case (.pass, .out(let index)): walkOut(from: index + 1, context)
        case (.pass, .back(let index, let head)): walkBack(head, from: index - 1, context, isInCall: false)
        case (.deferred(let deferred), _): wait(for: deferred, at: position, context)
        case (.answer(let answer), .out(let index)):
            start(answer.makeTransfer(self), of: context, answering: (answer, index))
        case (.answer(let answer), .back(let index, _)): leave(context, for: .answer(answer, link: index))
        case (.again(let message), .out): walkOut(from: 0, ChainContext(message))
        case (.again(let message), .back): leave(context, for: .message(message))
        case (.fail(let failure), .out):
            state.withLock { [context] in $0.refuse(context) }
            fail(with: failure)
        case (.fail(let failure), .back): cancel(with: failure)
        }
    }

    /// Abandons the present response for another message or answer.
    private func leave(_ context: consuming ChainContext, for next: Replacement) {
        handle(.leaves(isRecorded: context.recorder != nil)) { [context] in $0.leave(context, for: next) }
    }

    /// Stores the walk, starts the link's deferred decision, and continues the walk when the link has decided.
    private func wait(for deferred: DeferredDecision, at position: ChainPosition, _ context: consuming ChainContext) {
        let event: AttemptState.Event = if case .out = position { .waits } else { .asks }
        var number: Int?
        handle(event) { [context] in number = $0.wait(at: position, context) }
        guard let number else { return }
        let stop = deferred.begin { [self] decide in resume(number, decide) }
        let waits = state.withLock { $0.setStop(stop, ofWalk: number) }
        // The link decided, or the attempt ended, before `stop` was stored: the link can stop its work.
        if !waits { stop() }
    }

    /// Continues a walk that waited; only the first call with a number has an effect.
    private func resume(_ number: Int, _ decide: @Sendable (inout ChainContext) -> Decision) {
        guard var pending = state.withLock({ $0.wake(walk: number) }) else { return }
        let decision = decide(&pending.context)
        follow(decision, at: pending.position, pending.context)
    }

    /// Sends the message, or starts the answer, that replaces an abandoned response; runs on the session's queue.
    func proceed() {
        beginDeferredWork()
        let (next, hasHead) = state.withLock { ($0.next, $0.head != nil) }
        let link = if case .answer(_, let link) = next { link } else { 0 }
        // If the response was to be stored, `save()` has run before: the links are notified after the storing.
        conclude(hasHead ? .answered : .abandoned, downTo: link)
        switch state.withLock({ $0.takeNext() }) {
        case .message: launch()
        case .answer(let answer, let link):
            start(answer.makeTransfer(self), of: state.withLock { $0.context }, answering: (answer, link))
        case nil: break
        }
    }

    // MARK: Deferred work

    /// Whether links have deferred work that has not begun.
    var hasDeferredWork: Bool { state.withLock { !$0.context.deferredWork.isEmpty } }

    /// Begins the work that links have deferred, unless it has begun.
    func beginDeferredWork() {
        guard let (deferredWork, group) = state.withLock({ $0.takeDeferredWork() }) else { return }
        for work in deferredWork { work(group) }
    }

    /// Calls `body` when deferred work is done: immediately when no work is under way, otherwise on `queue`.
    func afterDeferredWork(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        beginDeferredWork()
        // The work is usually done already, so the group is polled first: a time-out of zero does not wait.
        guard let group = state.withLock({ $0.deferredWorkGroup }), group.wait(timeout: .now()) == .timedOut else {
            return body()
        }
        group.notify(queue: queue, execute: body)
    }
}
