// A connection that is being made for an origin.

/// A connection that is being made, and the waiting exchange for which it is made.
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

/// A timer that calls an action of an origin.
///
/// The timer holds the origin only while it waits. A weak reference would slow down all reference counting of the
/// origin.
final class OriginTimer: DeadlineEntry {
    private var origin: OriginPool?
    private let action: (OriginPool) -> Void

    init(_ action: @escaping (OriginPool) -> Void) {
        self.action = action
    }

    /// Calls the action at a moment.
    func wait(for origin: OriginPool, until moment: LoopInstant) {
        self.origin = origin
        origin.pool.context.deadlines.set(self, to: moment)
    }

    /// Stops the wait without calling the action.
    func end() {
        origin?.pool.context.deadlines.remove(self)
        origin = nil
    }

    override func timeReached(at now: LoopInstant) {
        if let origin = origin.take() { action(origin) }
    }
}
