// The observation of connections.

/// A connection, as reported to a ``ConnectionObserver``.
public struct ObservedConnection: Sendable {
    /// The origin to which the connection leads.
    public let origin: ConnectionOrigin
    /// The protocol, the addresses of both ends, and TLS.
    public let details: ConnectionDetails
}

/// Observes the connections that a transport opens and closes (``TransportOptions/connectionObserver``).
///
/// Called on the transport's thread, which also serves other requests: no method may block. WebSocket connections are
/// not reported.
public protocol ConnectionObserver: AnyObject, Sendable {
    /// A connection was opened, including its TLS handshake.
    func connectionOpened(_ connection: ObservedConnection)
    /// A connection was closed by either side; called once for each opened connection, with the time that it was open.
    func connectionClosed(_ connection: ObservedConnection, after duration: Duration)
}
