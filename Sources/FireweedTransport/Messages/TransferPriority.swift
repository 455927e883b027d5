// The priority of a message.

/// The importance of a message when not all messages can be sent.
///
/// Only the session's guards use it; it changes nothing on the wire.
public enum TransferPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Refused first when its server is busy: prefetching, telemetry.
    case sheddable
    /// The priority of most messages.
    case normal
    /// Refused last: requests for which a user waits.
    case important

    /// Orders priorities, least important first.
    public static func < (left: TransferPriority, right: TransferPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}
