// A transport with a guard in front of it.

import FireweedTransport

/// Wraps each transfer of another transport in a transfer of a guard.
///
/// WebSockets are exempt: they may last for ever, and show nothing about the server's load.
final class GuardedTransport: TransportDecorator, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of `Sendable` type.

    /// Makes the transfer of a message on the base transport; not called for WebSockets.
    typealias MakeTransfer =
        @Sendable (consuming RequestMessage, any TransferConsumer, _ base: any Transport) -> any TransferControl

    private let make: MakeTransfer

    init(_ base: any Transport, making make: @escaping MakeTransfer) {
        self.make = make
        super.init(base)
    }

    /// Makes a transport that asks a guard before each transfer, and notifies the guard of the head and the end.
    convenience init(_ base: any Transport, by gate: some AdmissionGuard) {
        self.init(base) { ObservedTransfer(of: $0, for: $1, on: $2, observer: GuardObserver(gate, clock: $2.clock)) }
    }

    override func makeTransfer(
        of message: consuming RequestMessage, for consumer: any TransferConsumer
    ) -> any TransferControl {
        guard message.webSocket == nil else { return base.makeTransfer(of: message, for: consumer) }
        return make(message, consumer, base)
    }
}
