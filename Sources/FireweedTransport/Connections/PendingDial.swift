// A connection that is being made for an origin.

/// A connection that is being made, and the exchange in the line that it is made for.
final class PendingDial {
    let origin: OriginPool
    var exchange: Exchange
    var dialer: Dialer?

    init(_ exchange: Exchange, origin: OriginPool) {
        self.exchange = exchange
        self.origin = origin
    }
}

extension PendingDial: DialerOwner {
    func dialerDidProgress(_ dialer: Dialer) { exchange.touch() }

    func dialer(_ dialer: Dialer, didConnect socket: ConnectedSocket) { origin.dialer(dialer, didConnect: socket) }

    func dialer(_ dialer: Dialer, didFail failure: TransferFailure) { origin.dialer(dialer, didFail: failure) }

    func dialerNeedsDescriptor(_ dialer: Dialer) -> Bool { origin.pool.freeDescriptor() }
}

/// Ends a wait of an origin.
///
/// It keeps the origin only while it waits. A weak reference would make every other reference to the origin dearer.
final class OriginTimer: DeadlineEntry {
    private var origin: OriginPool?
    private let action: (OriginPool) -> Void

    init(_ action: @escaping (OriginPool) -> Void) {
        self.action = action
    }

    /// Waits until a moment.
    func wait(for origin: OriginPool, until moment: LoopInstant) {
        self.origin = origin
        origin.pool.context.deadlines.set(self, to: moment)
    }

    /// Waits no longer.
    func end() {
        origin?.pool.context.deadlines.remove(self)
        origin = nil
    }

    override func timeReached(at now: LoopInstant) {
        if let origin = origin.take() { action(origin) }
    }
}
