// The reordering of the ends of transfers.

import Dispatch
import Fireweed
import Foundation
import Synchronization

/// Counts the running transfers of a ``FaultyTransport``, and holds a transfer's end until another transfer has ended.
final class CompletionOrder: Sendable {
    private struct State {
        var runningCount = 0
        var held: [ObjectIdentifier: TransferEnd] = [:]
        /// The consumers whose ends are held, oldest end first.
        var consumers: [ReorderingConsumer] = []
    }

    private let state = Mutex(State())
    private let clock: any SessionClock
    private let queue = DispatchQueue(label: "fireweed.faults.order")
    /// The longest time for which an end is held, since the other transfers may never end.
    private static let longestHold = Duration.seconds(1)

    init(clock: any SessionClock) {
        self.clock = clock
    }

    func begin() { state.withLock { $0.runningCount += 1 } }

    /// Reports an end to its consumer.
    ///
    /// A held end is reported after the next end of another transfer, or after `longestHold`.
    func finish(_ consumer: ReorderingConsumer, _ end: TransferEnd) {
        let isHeld = state.withLock { state in
            state.runningCount -= 1
            guard consumer.isHeld, state.runningCount > 0 else { return false }
            state.held[ObjectIdentifier(consumer)] = end
            state.consumers.append(consumer)
            return true
        }
        guard !isHeld else {
            clock.schedule(.limit, after: Self.longestHold, on: queue) { [weak self, weak consumer] in
                if let consumer { self?.release(consumer) }
            }
            return
        }
        consumer.tell(end)
        for consumer in state.withLock(\.consumers) { release(consumer) }
    }

    /// Reports a held end early, on `queue`: a `TransferControl` must not call the consumer inside its own methods.
    func releaseSoon(_ consumer: ReorderingConsumer) {
        queue.async { self.release(consumer) }
    }

    private func release(_ consumer: ReorderingConsumer) {
        let end = state.withLock { state in
            state.consumers.removeAll { $0 === consumer }
            return state.held.removeValue(forKey: ObjectIdentifier(consumer))
        }
        if let end { consumer.tell(end) }
    }
}

/// Controls a transfer that a ``CompletionOrder`` counts.
final class ReorderedTransfer: TransferControl {
    private let base: any TransferControl
    private let consumer: ReorderingConsumer

    init(_ base: any TransferControl, _ consumer: ReorderingConsumer) {
        self.base = base
        self.consumer = consumer
    }

    func start(_ flow: Flow) {
        consumer.begin()
        base.start(flow)
    }

    func setFlow(_ flow: Flow) { base.setFlow(flow) }
    func discard() { end(base.discard) }
    func cancel() { end(base.cancel) }

    private func end(_ command: () -> Void) {
        consumer.begin()
        command()
        consumer.releaseSoon()
    }
}

/// Passes a transfer's events on; the ``CompletionOrder`` decides when the end is passed on.
final class ReorderingConsumer: TransferConsumer {
    private let hold: Atomic<Bool>
    private let base: any TransferConsumer
    private let order: CompletionOrder
    private let hasBegun = Atomic(false)

    init(_ base: any TransferConsumer, isHeld: Bool, _ order: CompletionOrder) {
        self.base = base
        hold = Atomic(isHeld)
        self.order = order
    }

    /// Whether the end waits for the end of another transfer.
    var isHeld: Bool { hold.load(ordering: .acquiring) }

    /// Counts the transfer when called for the first time.
    func begin() {
        if !hasBegun.exchange(true, ordering: .acquiringAndReleasing) { order.begin() }
    }

    /// Releases an end that is held; an end that comes later is not held.
    func releaseSoon() {
        hold.store(false, ordering: .releasing)
        order.releaseSoon(self)
    }

    func tell(_ end: TransferEnd) { base.transferDidFinish(end) }

    func transferDidReceiveInterim(_ head: ResponseHead) { base.transferDidReceiveInterim(head) }
    func transferDidAnswerChallenge(_ head: ResponseHead) { base.transferDidAnswerChallenge(head) }
    func transferDidReceive(_ head: ResponseHead) -> Flow { base.transferDidReceive(head) }
    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { base.transferDidReceive(content) }
    func transferDidCompleteRead() { base.transferDidCompleteRead() }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        base.transferDidSend(byteCount, total: total, expected: expected)
    }

    func transferDidFinish(_ end: consuming TransferEnd) { order.finish(self, end) }
}
