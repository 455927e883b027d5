// The health of the fleet's server, and its events.

import Fireweed
import Synchronization

/// Keeps the circuit breaker of a fleet, and reports its changes in their order.
final class ServerHealth: Sendable {
    private struct State {
        var breaker = CircuitState(.fleet)
        var refusals = ServerRefusals()
        /// Events that the handler has not received yet.
        var events: [FleetEvent] = []
        var isDelivering = false
    }

    private let state = Mutex(State())
    private let handler: (@Sendable (FleetEvent) -> Void)?
    private let counter: FleetCounter

    init(handler: (@Sendable (FleetEvent) -> Void)?, counter: FleetCounter = FleetCounter()) {
        self.handler = handler
        self.counter = counter
    }

    var stage: CircuitState.Stage { state.withLock { $0.breaker.stage } }

    func admit(at now: UInt64) -> CircuitState.Admission { state.withLock { $0.breaker.admit(at: now) } }

    /// Notes that the server did the work of a command.
    func succeeded(_ command: RESPArgument, at now: UInt64) {
        change { state in
            let isBack = state.breaker.succeeded(at: now)
            let refusalTime = state.refusals.succeeded(command, at: now)
            if case .closed(let time)? = isBack { return .recovered(after: .nanoseconds(Int64(clamping: time))) }
            return refusalTime.map { .recovered(after: .nanoseconds(Int64(clamping: $0))) }
        }
    }

    /// Notes an answer that does not show whether the server can do its work.
    func answered(at now: UInt64) {
        change { state in
            guard case .closed(let time)? = state.breaker.succeeded(at: now) else { return nil }
            return .recovered(after: .nanoseconds(Int64(clamping: time)))
        }
    }

    /// Notes that the server answered, and did not do the work of a command.
    func refused(_ command: RESPArgument, at now: UInt64, with error: FleetError) {
        change { state in
            let isBack = state.breaker.succeeded(at: now)
            if state.refusals.refused(command, at: now) { return .degraded(error, pause: .zero) }
            guard case .closed(let time)? = isBack else { return nil }
            return .recovered(after: .nanoseconds(Int64(clamping: time)))
        }
    }

    /// Notes the failure of a command that was admitted at `start` and sent at `sent`.
    ///
    /// `command` is given if the server answered with an error. The server may still do the work of other commands, so
    /// that there may never be three failures in a row: the command then counts as refused.
    func failed(
        _ command: RESPArgument? = nil, at now: UInt64, since start: UInt64, sentAt sent: UInt64? = nil,
        with error: FleetError
    ) {
        change { state in
            if case .opened(let pause)? = state.breaker.failed(at: now, since: start, sentAt: sent) {
                // The refusals are cleared, since the circuit's `recovered` event also reports their end.
                state.refusals = ServerRefusals()
                return .degraded(error, pause: .nanoseconds(Int64(clamping: pause)))
            }
            guard let command, case .closed = state.breaker.stage, state.refusals.refused(command, at: now) else {
                return nil
            }
            return .degraded(error, pause: .zero)
        }
    }

    /// Notes that a command that was admitted at `start` ended without an outcome.
    func abandoned(since start: UInt64) {
        state.withLock { $0.breaker.abandoned(since: start) }
    }

    private func change(_ body: (inout State) -> FleetEvent?) {
        let (event, delivers) = state.withLock { state -> (FleetEvent?, Bool) in
            guard let event = body(&state) else { return (nil, false) }
            guard handler != nil else { return (event, false) }
            state.events.append(event)
            // If a thread already delivers events, it also delivers this one: two threads could change the order.
            defer { state.isDelivering = true }
            return (event, !state.isDelivering)
        }
        if case .degraded? = event { counter.change { $0.degradations += 1 } }
        if delivers { deliver() }
    }

    private func deliver() {
        while true {
            let event: FleetEvent? = state.withLock { state in
                guard state.events.isEmpty else { return state.events.removeFirst() }
                state.isDelivering = false
                return nil
            }
            guard let event else { return }
            handler?(event)
        }
    }
}
