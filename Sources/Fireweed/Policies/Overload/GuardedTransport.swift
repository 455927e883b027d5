// A transport with a guard in front of it.

import FireweedTransport

/// Has the transfers of a guard in front of those of another transport.
///
/// WebSockets are exempt: they last for as long as somebody talks, and say nothing about their server's load.
final class GuardedTransport: Transport {
    /// Makes the transfer of one message to the base, which is no WebSocket.
    typealias MakeTransfer =
        @Sendable (consuming RequestMessage, any TransferConsumer, _ base: any Transport) -> any TransferControl

    private let base: any Transport
    private let make: MakeTransfer
    let clock: any SessionClock

    init(_ base: any Transport, making make: @escaping MakeTransfer) {
        self.base = base
        self.make = make
        clock = base.clock
    }

    /// Asks a guard before each transfer, and tells the guard of the head and the end.
    convenience init(_ base: any Transport, by gate: some AdmissionGuard) {
        self.init(base) { GuardedTransfer(of: $0, for: $1, on: $2, by: gate, clock: $2.clock) }
    }

    deinit { shutDown() }

    func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        guard message.webSocket == nil else { return base.makeTransfer(of: message, for: consumer) }
        return make(message, consumer, base)
    }

    var abilities: TransportAbilities { base.abilities }
    var options: TransportOptions { base.options }
    var executor: (any TaskExecutor)? { base.executor }

    func evaluateServers(with rules: ServerTrustRules) { base.evaluateServers(with: rules) }
    func closeIdleConnections() { base.closeIdleConnections() }
    func shutDown() { base.shutDown() }
}
