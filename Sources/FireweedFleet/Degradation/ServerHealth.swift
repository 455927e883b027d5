// Whether the fleet's server is asked, and who is notified of that.

import Synchronization

/// Keeps the circuit breaker of a fleet, and reports its changes one after the other.
final class ServerHealth: Sendable {
    private struct State {
        var breaker = CircuitBreaker()
        var refusals = ServerRefusals()
        /// Events that the handler was not called with yet.
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

    var stage: CircuitBreaker.Stage { state.withLock { $0.breaker.stage } }

    func admit(at now: UInt64) -> CircuitBreaker.Admission { state.withLock { $0.breaker.admit(at: now) } }

    /// The server did the work of a command.
    func succeeded(_ command: RESPArgument, at now: UInt64) {
        change { state in
            let isBack = state.breaker.succeeded(at: now)
            let refusalTime = state.refusals.succeeded(command, at: now)
            if case .recovered(let time)? = isBack { return .recovered(after: .nanoseconds(Int64(clamping: time))) }
            return refusalTime.map { .recovered(after: .nanoseconds(Int64(clamping: $0))) }
        }
    }

    /// The server answered, and did not do the work of a command.
    func refused(_ command: RESPArgument, at now: UInt64, with error: FleetError) {
        change { state in
            let isBack = state.breaker.succeeded(at: now)
            if state.refusals.refused(command, at: now) { return .degraded(error, pause: .zero) }
            guard case .recovered(let time)? = isBack else { return nil }
            return .recovered(after: .nanoseconds(Int64(clamping: time)))
        }
    }

    func failed(at now: UInt64, since start: UInt64, with error: FleetError) {
        change { state in
            guard case .degraded(let pause)? = state.breaker.failed(at: now, since: start) else { return nil }
            return .degraded(error, pause: .nanoseconds(Int64(clamping: pause)))
        }
    }

    func abandoned(at now: UInt64) {
        state.withLock { $0.breaker.abandoned(at: now) }
    }

    private func change(_ body: (inout State) -> FleetEvent?) {
        let (event, delivers) = state.withLock { state -> (FleetEvent?, Bool) in
            guard let event = body(&state) else { return (nil, false) }
            guard handler != nil else { return (event, false) }
            state.events.append(event)
            // The thread that delivers already takes this event too: two threads could swap their events.
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
