// Numbers of an origin's connections and waiting messages.

/// The numbers of an origin's connections, and of its messages that wait for a connection, at one moment.
///
/// A connection through a proxy counts for the origin behind the proxy.
public struct OriginStatistics: Sendable, Hashable {
    /// The origin.
    public var origin: ConnectionOrigin
    /// Connections that are being made.
    public var connecting = 0
    /// Connections with at least one exchange.
    public var active = 0
    /// Connections without an exchange.
    public var idle = 0
    /// Messages that wait for a connection, including those for which a connection is being made.
    public var waiting = 0

    /// Makes statistics in which every number is zero.
    public init(origin: ConnectionOrigin) {
        self.origin = origin
    }

    /// Whether there are no connections and no waiting messages.
    public var isEmpty: Bool { connecting == 0 && active == 0 && idle == 0 && waiting == 0 }
}
