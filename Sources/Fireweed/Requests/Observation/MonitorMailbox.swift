// Delivery of events to one monitor.

import Dispatch
import Synchronization

/// Passes events on to a monitor, on its queue and in their order.
///
/// Events that come while earlier events wait for the queue are passed on together with those events, in one block.
final class MonitorMailbox: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        /// The queue on which `passOn()` is scheduled or runs; `nil` when no event waits.
        var queue: DispatchQueue?
    }

    let monitor: any EventMonitor
    let events: MonitoredEvents
    private let state = Mutex(State())

    init(_ monitor: any EventMonitor) {
        self.monitor = monitor
        events = monitor.events
    }

    /// Calls `event` with the monitor, on its queue, after all earlier events.
    func post(_ event: @escaping @Sendable (any EventMonitor) -> Void) {
        // A monitor may return another queue for an event: order is then kept on each queue only.
        let queue = monitor.queue
        let call: @Sendable () -> Void = { [monitor] in event(monitor) }
        let (isFirst, isOther) = state.withLock { state in
            guard state.queue == nil || state.queue === queue else { return (false, true) }
            state.waiting.append(call)
            defer { state.queue = queue }
            return (state.queue == nil, false)
        }
        if isFirst { queue.async { self.passOn() } }
        if isOther { queue.async(execute: call) }
    }

    /// Passes on events until none waits, so that a block added to the queue later runs after all events posted before.
    private func passOn() {
        while let batch = nextBatch() {
            for event in batch { event() }
        }
    }

    private func nextBatch() -> [@Sendable () -> Void]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.queue = nil
                return nil
            }
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
