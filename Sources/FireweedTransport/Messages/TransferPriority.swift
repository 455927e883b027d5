// The priority of a message.

/// How much a message matters when not all can be sent.
///
/// It is for the guards of a session, and changes nothing on the wire.
public enum TransferPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// The first to be refused when its server is busy: prefetching, telemetry.
    case sheddable
    /// The priority of most messages.
    case normal
    /// Sent as long as any message is: for what a user waits for.
    case important

    /// Orders priorities, the least first.
    public static func < (left: TransferPriority, right: TransferPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}
