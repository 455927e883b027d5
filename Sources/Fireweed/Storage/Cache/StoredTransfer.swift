// A stored response as a transfer.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// Delivers a stored response like a response from the network: it can be suspended, discarded and cancelled.
final class StoredTransfer: TransferControl, @unchecked Sendable {
    private enum Phase { case ready, playing, ended }

    private struct State {
        var phase = Phase.ready
        var consumer: (any TransferConsumer)?
        var flow = Flow.undecided
        var isCancelled = false
        var hasHead = false
    }

    /// The queue on which the consumer is called.
    private let queue: DispatchQueue
    private let state: Mutex<State>
    // SAFETY: used on the queue alone.
    private var playback: StoredPlayback

    init(_ playback: StoredPlayback, for consumer: any TransferConsumer, on queue: DispatchQueue) {
        self.queue = queue
        self.playback = playback
        state = Mutex(State(consumer: consumer))
    }

    func start(_ flow: Flow) {
        let isFirst = state.withLock { state in
            guard state.phase == .ready else { return false }
            state.phase = .playing
            _ = state.flow.follow(flow)
            return true
        }
        if isFirst { queue.async { self.deliver() } }
    }

    func setFlow(_ flow: Flow) {
        let mayDeliver = state.withLock { $0.flow.follow(flow) && $0.phase == .playing }
        if mayDeliver { queue.async { self.deliver() } }
    }

    func discard() {
        let hasHead = state.withLock(\.hasHead)
        hasHead ? queue.async { self.end(nil) } : cancel()
    }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        queue.async { self.end(.cancelled) }
    }

    /// Delivers pieces until everything is delivered or the flow stops the delivery; on the queue.
    private func deliver() {
        while true {
            let next = state.withLock { state -> (any TransferConsumer)? in
                guard state.phase == .playing, state.flow.level == .running, !state.isCancelled else { return nil }
                return state.consumer
            }
            guard let next else { return }
            guard let flow = playback.step(to: next) else { return end(nil) }
            state.withLock { state in
                state.hasHead = true
                _ = state.flow.follow(flow)
            }
        }
    }

    /// Notifies the consumer of the end; only the first call counts.
    private func end(_ failure: TransferFailure?) {
        let consumer = state.withLock { state in
            state.phase = .ended
            return state.consumer.take()
        }
        consumer?.transferDidFinish(TransferEnd(failure, report: playback.report))
    }
}
