// Wrappers of transfers and consumers that inject faults.

import Dispatch
import Fireweed
import Foundation
import Synchronization

/// Starts a transfer after a delay.
final class LateTransfer: TransferControl {
    private struct State {
        var start: (any ScheduledCall)?
        var isOver = false
    }

    private let base: any TransferControl
    private let state = Mutex(State())
    private let delay: Duration
    private let clock: any SessionClock
    private static let queue = DispatchQueue(label: "fireweed.faults")

    init(_ base: any TransferControl, delay: Duration, clock: any SessionClock) {
        self.base = base
        self.delay = delay
        self.clock = clock
    }

    func start(_ flow: Flow) {
        guard !state.withLock(\.isOver) else { return base.start(flow) }
        let start = clock.schedule(.delay, after: delay, on: Self.queue) { [base] in base.start(flow) }
        let isOver = state.withLock { state in
            state.start = start
            return state.isOver
        }
        if isOver { start.cancel() }
    }

    func setFlow(_ flow: Flow) { base.setFlow(flow) }
    func discard() { end(base.discard) }
    func cancel() { end(base.cancel) }

    /// Cancels a pending start, and then ends the transfer with `command`.
    private func end(_ command: () -> Void) {
        let start = state.withLock { state in
            state.isOver = true
            return state.start.take()
        }
        start?.cancel()
        command()
    }
}

/// Passes on half of the first piece of a response's content, and then fails with `networkConnectionLost`.
final class CuttingConsumer: TransferConsumer {
    private let base: any TransferConsumer
    private let state = Mutex(State())

    private struct State {
        /// The transfer to cancel; weak, since the transfer holds this consumer.
        weak var control: (any TransferControl)?
        var isCut = false
    }

    init(_ base: any TransferConsumer) {
        self.base = base
    }

    /// Sets the transfer to cancel at the first piece of content.
    func attach(_ control: any TransferControl) {
        state.withLock { $0.control = control }
    }

    func transferDidReceiveInterim(_ head: ResponseHead) { base.transferDidReceiveInterim(head) }
    func transferDidAnswerChallenge(_ head: ResponseHead) { base.transferDidAnswerChallenge(head) }
    func transferDidReceive(_ head: ResponseHead) -> Flow { base.transferDidReceive(head) }
    func transferDidCompleteRead() { base.transferDidCompleteRead() }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        base.transferDidSend(byteCount, total: total, expected: expected)
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        let control = state.withLock { state -> (any TransferControl)? in
            guard !state.isCut else { return nil }
            state.isCut = true
            return state.control
        }
        guard let control else { return .undecided }
        control.cancel()
        return base.transferDidReceive(
            ContentBytes(UnsafeRawBufferPointer(rebasing: content.bytes.prefix(content.count / 2))))
    }

    func transferDidFinish(_ end: consuming TransferEnd) {
        var end = end
        let isCut = state.withLock { state in
            state.control = nil
            return state.isCut
        }
        if isCut {
            end.failure = .exchange(
                .networkConnectionLost, detail: "cut by a FaultyTransport", engineCode: 0)
        }
        base.transferDidFinish(end)
    }
}

/// Discards a response.
final class IgnoringConsumer: TransferConsumer {
    func transferDidReceive(_ head: ResponseHead) -> Flow { .undecided }
    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { .undecided }
    func transferDidFinish(_ end: consuming TransferEnd) {}
}
