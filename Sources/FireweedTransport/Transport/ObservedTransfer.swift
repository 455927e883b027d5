// One transfer that an observer follows from its start to its end.

import Dispatch
import Synchronization

/// Follows one message of the wire.
///
/// A transfer that is dropped or cancelled before it is started calls none of the methods; one that is started calls
/// the first once, and the last once unless the first has refused it. The calls never overlap. No method may wait.
package protocol TransferObserver: AnyObject, Sendable {
    /// The transfer starts, on the thread that starts it: the message can still be changed.
    ///
    /// - Returns: why the message is not sent, which ends the transfer; `nil` has it sent.
    func transferWillStart(_ message: inout RequestMessage) -> TransferFailure?
    /// A challenge was answered by the transport, on its thread. Any number of times, before the head.
    func transferDidAnswerChallenge(_ head: ResponseHead)
    /// The head came, on the transport's thread.
    func transferDidReceive(_ head: ResponseHead)
    /// The transfer ended, on the transport's thread; the consumer does not know yet.
    ///
    /// - Parameters:
    ///   - end: the end.
    ///   - failure: why the transfer failed, which is a time-out where it was cancelled since the deadline of its
    ///     request had come; `nil` when it did not fail.
    func transferDidFinish(_ end: borrowing TransferEnd, failure: TransferFailure?)
}

extension TransferObserver {
    package func transferDidAnswerChallenge(_ head: ResponseHead) {}
}

/// Makes the transfer of another transport when it is started, and notifies its observer.
///
/// Before the start there is nothing to observe, so that a control that is dropped owes nothing.
package final class ObservedTransfer: TransferControl, TransferConsumer, @unchecked Sendable {
    private enum Stage {
        /// Not started; the latest flow.
        case made(RequestMessage, Flow)
        /// The observer changes the message, which may take another lock, and the base makes its transfer.
        case starting(Flow, isCancelled: Bool)
        case running(any TransferControl)
        case finished
    }

    private let base: any Transport
    private let observer: any TransferObserver
    private let deadline: UInt64?
    private let stage: Mutex<Stage>
    // SAFETY: touched by the thread that ends the stage `made`, and from then on by the base's transfer alone, whose
    // calls never overlap. Released at the end, since the consumer holds the control.
    private var consumer: (any TransferConsumer)?

    /// Makes a transfer.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - consumer: is notified of the response.
    ///   - base: the transport that sends the message.
    ///   - observer: follows the transfer, and this transfer alone.
    package init(
        of message: consuming RequestMessage, for consumer: any TransferConsumer, on base: any Transport,
        observer: any TransferObserver
    ) {
        self.base = base
        self.observer = observer
        self.consumer = consumer
        deadline = message.requestDeadlineNanoseconds
        stage = Mutex(.made(message, .undecided))
    }

    // MARK: Control

    package func start(_ flow: Flow) {
        let made = stage.withLock { stage -> RequestMessage? in
            guard case .made(let message, var known) = stage else { return nil }
            _ = known.follow(flow)
            stage = .starting(known, isCancelled: false)
            return message
        }
        guard var message = made else { return }
        if let failure = observer.transferWillStart(&message) {
            stage.withLock { $0 = .finished }
            return end(with: failure)
        }
        let control = base.makeTransfer(of: message, for: self)
        let next = stage.withLock { stage -> Flow? in
            guard case .starting(let flow, let isCancelled) = stage else { return nil }
            stage = .running(control)
            return isCancelled ? nil : flow
        }
        if let next { control.start(next) } else { control.cancel() }
    }

    package func setFlow(_ flow: Flow) {
        stage.withLock { stage -> (any TransferControl)? in
            switch stage {
            case .made(let message, var known):
                _ = known.follow(flow)
                stage = .made(message, known)
                return nil
            case .starting(var known, let isCancelled):
                _ = known.follow(flow)
                stage = .starting(known, isCancelled: isCancelled)
                return nil
            case .running(let control): return control
            case .finished: return nil
            }
        }?.setFlow(flow)
    }

    // Before the head, a discard is a cancel.
    package func discard() { stop { $0.discard() } }

    package func cancel() { stop { $0.cancel() } }

    private func stop(_ stopRunning: (any TransferControl) -> Void) {
        let (control, isFirst) = stage.withLock { stage -> ((any TransferControl)?, Bool) in
            switch stage {
            case .made:
                stage = .finished
                return (nil, true)
            case .starting(let flow, _):
                stage = .starting(flow, isCancelled: true)
                return (nil, false)
            case .running(let control): return (control, false)
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

    package func transferDidReceiveInterim(_ head: ResponseHead) { consumer?.transferDidReceiveInterim(head) }

    package func transferDidAnswerChallenge(_ head: ResponseHead) {
        observer.transferDidAnswerChallenge(head)
        consumer?.transferDidAnswerChallenge(head)
    }

    package func transferDidReceive(_ head: ResponseHead) -> Flow {
        observer.transferDidReceive(head)
        return consumer?.transferDidReceive(head) ?? .undecided
    }

    package func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        consumer?.transferDidReceive(content) ?? .undecided
    }

    package func transferDidCompleteRead() { consumer?.transferDidCompleteRead() }

    package func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        consumer?.transferDidSend(byteCount, total: total, expected: expected)
    }

    package func transferDidFinish(_ end: consuming TransferEnd) {
        // What the stage holds is released after the lock.
        let last = stage.withLock { stage in
            defer { stage = .finished }
            return stage
        }
        var failure = end.failure
        if case .cancelled = failure, let deadline, deadline <= base.clock.monotonicNanoseconds {
            failure = .timedOut("the deadline of the request came")
        }
        observer.transferDidFinish(end, failure: failure)
        consumer.take()?.transferDidFinish(end)
        withExtendedLifetime(last) {}
    }
}
