// A transfer with an observer that follows it from its start to its end.

import Dispatch
import Synchronization

/// Observes one transfer.
///
/// A transfer that is released or cancelled before its start calls no method. A started transfer calls
/// `transferWillStart(_:)` once, and `transferDidFinish(_:failure:)` once unless `transferWillStart(_:)` has refused
/// the message. The calls never overlap. No method may block.
///
/// An observer is a value, which its transfer stores: an object of its own costs an allocation for each message.
package protocol TransferObserver: Sendable {
    /// The transfer starts; called on the thread that starts it. The message can still be changed.
    ///
    /// - Returns: a failure that ends the transfer instead of sending the message; `nil` to send it.
    mutating func transferWillStart(_ message: inout RequestMessage) -> TransferFailure?
    /// The transport has answered a challenge. Called on its thread, any number of times, before the head.
    mutating func transferDidAnswerChallenge(_ head: ResponseHead)
    /// The head of the response came; called on the transport's thread.
    mutating func transferDidReceive(_ head: ResponseHead)
    /// The transfer ended; called on the transport's thread, before the consumer is notified.
    ///
    /// - Parameters:
    ///   - end: the end.
    ///   - failure: why the transfer failed; `nil` when it did not fail. A transfer that was cancelled and whose
    ///     request's deadline is over has a time-out here.
    mutating func transferDidFinish(_ end: borrowing TransferEnd, failure: TransferFailure?)
}

extension TransferObserver {
    package func transferDidAnswerChallenge(_ head: ResponseHead) {}
}

/// How far an observed transfer has come.
private enum ObservedStage {
    /// Not started; the latest flow.
    case made(Flow)
    /// The observer changes the message, which may take another lock, and the base makes its transfer.
    case starting(Flow, isCancelled: Bool)
    case running(any TransferControl)
    case finished
}

/// The message, until it is sent, and its consumer, until the end.
private struct ObservedParts {
    var message: RequestMessage?
    var consumer: (any TransferConsumer)?
}

/// Makes the transfer of another transport when it is started, and notifies an observer.
///
/// Nothing is made before the start, so a control that is released without a start has nothing to report.
package final class ObservedTransfer<Observer: TransferObserver>:
    TransferControl, TransferConsumer, @unchecked Sendable
{
    private let base: any Transport
    private let deadline: UInt64?
    private let stage: Mutex<ObservedStage>
    // SAFETY: the thread that ends the stage `made` touches `parts` and `observer`; from then on only the base's
    // transfer touches them, in calls that never overlap. The consumer, which holds the control, is released at the
    // end. Debug builds, in which the tests run, check that no call is made during another one.
    #if DEBUG
    private var parts: ObservedParts
    private var observer: Observer
    #else
    @exclusivity(unchecked) private var parts: ObservedParts
    @exclusivity(unchecked) private var observer: Observer
    #endif

    /// Makes a transfer.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - consumer: is notified of the response.
    ///   - base: the transport that sends the message.
    ///   - observer: follows the transfer.
    package init(
        of message: consuming RequestMessage, for consumer: any TransferConsumer, on base: any Transport,
        observer: consuming Observer
    ) {
        self.base = base
        self.observer = observer
        deadline = message.requestDeadlineNanoseconds
        parts = ObservedParts(message: message, consumer: consumer)
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
        guard isFirst, var message = parts.message.take() else { return }
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
        parts.message = nil
        end(with: .cancelled)
    }

    /// Reports an end to the consumer when the base has no transfer.
    private func end(with failure: TransferFailure) {
        guard let consumer = parts.consumer.take() else { return }
        FailedTransfer(failure, consumer: consumer).start(.undecided)
    }

    // MARK: Events of the base

    package func transferDidReceiveInterim(_ head: ResponseHead) { parts.consumer?.transferDidReceiveInterim(head) }

    package func transferDidAnswerChallenge(_ head: ResponseHead) {
        observer.transferDidAnswerChallenge(head)
        parts.consumer?.transferDidAnswerChallenge(head)
    }

    package func transferDidReceive(_ head: ResponseHead) -> Flow {
        observer.transferDidReceive(head)
        return parts.consumer?.transferDidReceive(head) ?? .undecided
    }

    package func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        parts.consumer?.transferDidReceive(content) ?? .undecided
    }

    package func transferDidCompleteRead() { parts.consumer?.transferDidCompleteRead() }

    package func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        parts.consumer?.transferDidSend(byteCount, total: total, expected: expected)
    }

    package func transferDidFinish(_ end: consuming TransferEnd) {
        // Keeps the old stage alive until the lock is released: the release of its control may run other code.
        let last = stage.withLock { stage in
            defer { stage = .finished }
            return stage
        }
        var failure = end.failure
        if case .cancelled = failure, let deadline, deadline <= base.clock.monotonicNanoseconds {
            failure = .timedOut("the deadline of the request came")
        }
        observer.transferDidFinish(end, failure: failure)
        parts.consumer.take()?.transferDidFinish(end)
        withExtendedLifetime(last) {}
    }
}
