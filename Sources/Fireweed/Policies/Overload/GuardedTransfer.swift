// One transfer that needs the admission of a guard.

import FireweedTransport
import Synchronization

/// Asks its guard when it is started, makes the transfer where the guard admits it, and releases the permit at the end.
///
/// Before the start nothing is taken from the guard, so that a control that is dropped owes nothing.
final class GuardedTransfer<Guard: AdmissionGuard>: TransferControl, TransferConsumer, @unchecked Sendable {
    private enum Stage {
        /// Not started; the latest flow.
        case made(RequestMessage, Flow)
        /// The guard is asked, which may take another lock.
        case asking(Flow, isCancelled: Bool)
        /// The base's transfer is under way; the guard may have no interest in it.
        case running(any TransferControl, Guard.Permit?)
        case finished
    }

    private let base: any Transport
    private let gate: Guard
    private let clock: any SessionClock
    private let stage: Mutex<Stage>
    // SAFETY: touched by the thread that ends the stages `made` and `asking`, and from then on by the base's transfer
    // alone, whose calls never overlap. Released at the end, since the consumer holds the control.
    private var consumer: (any TransferConsumer)?
    private var hasHead = false
    private let deadline: UInt64?

    init(
        of message: consuming RequestMessage, for consumer: any TransferConsumer, on base: any Transport,
        by gate: Guard, clock: any SessionClock
    ) {
        self.base = base
        self.gate = gate
        self.clock = clock
        self.consumer = consumer
        deadline = message.requestDeadlineNanoseconds
        stage = Mutex(.made(message, .undecided))
    }

    // MARK: Control

    func start(_ flow: Flow) {
        let message = stage.withLock { stage -> RequestMessage? in
            guard case .made(let message, var known) = stage else { return nil }
            _ = known.follow(flow)
            stage = .asking(known, isCancelled: false)
            return message
        }
        guard let message else { return }
        switch gate.admit(message, at: clock.monotonicNanoseconds) {
        case .pass: run(message, nil)
        case .admit(let permit): run(message, permit)
        case .refuse(let error):
            stage.withLock { $0 = .finished }
            end(with: .reported(error))
        }
    }

    private func run(_ message: RequestMessage, _ permit: Guard.Permit?) {
        let control = base.makeTransfer(of: message, for: self)
        let flow = stage.withLock { stage -> Flow? in
            guard case .asking(let flow, let isCancelled) = stage else { return nil }
            stage = .running(control, permit)
            return isCancelled ? nil : flow
        }
        if let flow { control.start(flow) } else { control.cancel() }
    }

    func setFlow(_ flow: Flow) {
        stage.withLock { stage -> (any TransferControl)? in
            switch stage {
            case .made(let message, var known):
                _ = known.follow(flow)
                stage = .made(message, known)
                return nil
            case .asking(var known, let isCancelled):
                _ = known.follow(flow)
                stage = .asking(known, isCancelled: isCancelled)
                return nil
            case .running(let control, _): return control
            case .finished: return nil
            }
        }?.setFlow(flow)
    }

    // Before the head, a discard is a cancel.
    func discard() { stop { $0.discard() } }

    func cancel() { stop { $0.cancel() } }

    private func stop(_ stopRunning: (any TransferControl) -> Void) {
        let (control, isFirst) = stage.withLock { stage -> ((any TransferControl)?, Bool) in
            switch stage {
            case .made:
                stage = .finished
                return (nil, true)
            case .asking(let flow, _):
                stage = .asking(flow, isCancelled: true)
                return (nil, false)
            case .running(let control, _): return (control, false)
            case .finished: return (nil, false)
            }
        }
        if let control { stopRunning(control) }
        if isFirst { end(with: .cancelled) }
    }

    /// Reports an end without a transfer of the base.
    private func end(with failure: TransferFailure) {
        guard let consumer = consumer.take() else { return }
        FailedTransfer(failure, consumer: consumer).start(.undecided)
    }

    // MARK: What the base says

    func transferDidReceiveInterim(_ head: ResponseHead) { consumer?.transferDidReceiveInterim(head) }

    func transferDidAnswerChallenge(_ head: ResponseHead) { consumer?.transferDidAnswerChallenge(head) }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        hasHead = true
        if case .running(_, let permit?) = stage.withLock({ $0 }) { gate.noteHead(head, for: permit, clock: clock) }
        return consumer?.transferDidReceive(head) ?? .undecided
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        consumer?.transferDidReceive(content) ?? .undecided
    }

    func transferDidCompleteRead() { consumer?.transferDidCompleteRead() }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        consumer?.transferDidSend(byteCount, total: total, expected: expected)
    }

    func transferDidFinish(_ end: consuming TransferEnd) {
        // What the stage holds is released after the lock.
        let last = stage.withLock { stage in
            defer { stage = .finished }
            return stage
        }
        if case .running(_, let permit?) = last {
            let now = clock.monotonicNanoseconds
            let guarded = GuardedEnd(
                hasHead: hasHead, failure: end.failure, isPastDeadline: deadline.map { $0 <= now } ?? false,
                isUnassigned: end.report.isUnassigned)
            gate.release(permit, after: guarded, at: now)
        }
        consumer.take()?.transferDidFinish(end)
    }
}
