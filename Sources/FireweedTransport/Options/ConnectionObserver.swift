// Observation of connections.

/// A connection, as a ``ConnectionObserver`` gets it.
public struct ObservedConnection: Sendable {
    /// The origin that it is for.
    public let origin: ConnectionOrigin
    /// The protocol, both ends, and TLS.
    public let details: ConnectionDetails
}

/// Is notified of the connections that a transport opens and closes (``TransportOptions/connectionObserver``).
///
/// Called on the transport's thread, which moves the bytes of other requests: no method may wait. Connections of
/// WebSockets are not reported.
public protocol ConnectionObserver: AnyObject, Sendable {
    /// A connection was made, its TLS handshake included.
    func connectionOpened(_ connection: ObservedConnection)
    /// A connection was closed by either side; called once for each opened connection, with the time that it was open.
    func connectionClosed(_ connection: ObservedConnection, after duration: Duration)
}
