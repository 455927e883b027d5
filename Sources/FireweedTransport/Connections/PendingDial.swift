// A connection that is being made for an origin.

/// A connection that is being made, and the exchange in the line that it is made for.
struct PendingDial {
    let dialer: Dialer
    var exchange: Exchange
}

/// Ends a wait of an origin.
final class OriginTimer: DeadlineEntry {
    private weak var origin: OriginPool?
    private let action: (OriginPool) -> Void

    init(_ origin: OriginPool, _ action: @escaping (OriginPool) -> Void) {
        self.origin = origin
        self.action = action
    }

    override func timeReached(at now: LoopInstant) {
        if let origin { action(origin) }
    }
}
