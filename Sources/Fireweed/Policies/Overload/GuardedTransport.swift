// A transport whose messages need the admission of a guard.

import FireweedTransport

/// Asks a guard before each transfer, and tells it of the head and the end.
///
/// WebSockets are exempt: they last for as long as somebody talks, and say nothing about their server's load.
final class GuardedTransport<Guard: AdmissionGuard>: Transport {
    private let base: any Transport
    private let gate: Guard
    let clock: any SessionClock

    init(_ base: any Transport, by gate: Guard) {
        self.base = base
        self.gate = gate
        clock = base.clock
    }

    deinit { shutDown() }

    func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        guard message.webSocket == nil else { return base.makeTransfer(of: message, for: consumer) }
        return GuardedTransfer(of: message, for: consumer, on: base, by: gate, clock: clock)
    }

    var abilities: TransportAbilities { base.abilities }
    var options: TransportOptions { base.options }
    var executor: (any TaskExecutor)? { base.executor }

    func evaluateServers(with rules: ServerTrustRules) { base.evaluateServers(with: rules) }
    func closeIdleConnections() { base.closeIdleConnections() }
    func shutDown() { base.shutDown() }
}
