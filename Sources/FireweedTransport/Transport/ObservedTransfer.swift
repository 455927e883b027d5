// A transfer with an observer that follows it from its start to its end.

import Dispatch
import Synchronization

/// Observes one transfer.
///
/// A transfer that is released or cancelled before its start calls no method. A started transfer calls
/// `transferWillStart(_:)` once, and `transferDidFinish(_:failure:)` once unless `transferWillStart(_:)` has refused
/// the message. The calls never overlap. No method may block.
package protocol TransferObserver: AnyObject, Sendable {
    /// The transfer starts; called on the thread that starts it. The message can still be changed.
    ///
    /// - Returns: a failure that ends the transfer instead of sending the message; `nil` to send it.
    func transferWillStart(_ message: inout RequestMessage) -> TransferFailure?
    /// The transport has answered a challenge. Called on its thread, any number of times, before the head.
    func transferDidAnswerChallenge(_ head: ResponseHead)
    /// The head of the response came; called on the transport's thread.
    func transferDidReceive(_ head: ResponseHead)
    /// The transfer ended; called on the transport's thread, before the consumer is notified.
    ///
    /// - Parameters:
    ///   - end: the end.
    ///   - failure: why the transfer failed; `nil` when it did not fail. A transfer that was cancelled and whose
    ///     request's deadline is over has a time-out here.
    func transferDidFinish(_ end: borrowing TransferEnd, failure: TransferFailure?)
}

extension TransferObserver {
    package func transferDidAnswerChallenge(_ head: ResponseHead) {}
}

/// Makes the transfer of another transport when it is started, and notifies an observer.
///
/// Nothing is made before the start, so a control that is released without a start has nothing to report.
package final class ObservedTransfer: TransferControl, TransferConsumer, @unchecked Sendable {
    private enum Stage {
        /// Not started; the latest flow.
        case made(Flow)
        /// The observer changes the message, which may take another lock, and the base makes its transfer.
        case starting(Flow, isCancelled: Bool)
        case running(any TransferControl)
        case finished
    }

    private let base: any Transport
    private let observer: any TransferObserver
    private let deadline: UInt64?
    private let stage: Mutex<Stage>
    // SAFETY: both are touched by the thread that ends the stage `made`; from then on the base's transfer alone touches
    // the consumer, in calls that never overlap. Released at the end, since the consumer holds the control.
    private var message: RequestMessage?
    private var consumer: (any TransferConsumer)?

    /// Makes a transfer.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - consumer: is notified of the response.
    ///   - base: the transport that sends the message.
    ///   - observer: follows the transfer; each transfer needs an observer of its own.
    package init(
        of message: consuming RequestMessage, for consumer: any TransferConsumer, on base: any Transport,
        observer: any TransferObserver
    ) {
        self.base = base
        self.observer = observer
        self.consumer = consumer
        deadline = message.requestDeadlineNanoseconds
        self.message = message
        stage = Mutex(.made(.undecided))
    }

    // MARK: Control

    package func start(_ flow: Flow) {
        let isFirst = stage.withLock { stage in
            guard case .made(var known) = stage else { return false }
            _ = known.follow(flow)
            stage = .starting(known, isCancelled: false)
            return true
        }
        guard isFirst, var message = message.take() else { return }
        if let failure = observer.transferWillStart(&message) {
            stage.withLock { $0 = .finished }
            return end(with: failure)
        }
        let control = base.makeTransfer(of: consume message, for: self)
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
            case .made(var known):
                _ = known.follow(flow)
                stage = .made(known)
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

    // Until the base has its transfer, no head can have come, so a discard is the same as a cancel.
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
        guard isFirst else { return }
        message = nil
        end(with: .cancelled)
    }

    /// Reports an end to the consumer when the base has no transfer.
    private func end(with failure: TransferFailure) {
        guard let consumer = consumer.take() else { return }
        FailedTransfer(failure, consumer: consumer).start(.undecided)
    }

    // MARK: Events of the base

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
        // The old stage is released after the lock, since it holds a control or a message.
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
