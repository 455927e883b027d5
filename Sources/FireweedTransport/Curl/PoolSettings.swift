// What every connection of a pool has in common.

/// Settings of a connection pool; they are the session's, so that two sessions never share a connection.
public struct PoolSettings: Sendable {
    /// The transport options of the session.
    public var options: TransportOptions
    /// Most connections to one host at a time; more requests wait.
    ///
    /// Zero or less for no limit.
    public var maximumConnectionsPerHost: Int
    /// Decides inside the TLS handshake whether the peer is trusted; `nil` leaves it to the authorities in `options`.
    public var trustDecision: (@Sendable (ServerTrust) throws -> Void)?

    /// Whether `trustDecision` may wait for a host, and so must run beside the loop; `nil` when it never does.
    public var trustDecisionMayWait: (@Sendable (String) -> Bool)?

    /// Makes the settings of a pool.
    public init(
        options: TransportOptions = TransportOptions(), maximumConnectionsPerHost: Int = 6,
        trustDecision: (@Sendable (ServerTrust) throws -> Void)? = nil,
        trustDecisionMayWait: (@Sendable (String) -> Bool)? = nil
    ) {
        self.options = options
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
        self.trustDecision = trustDecision
        self.trustDecisionMayWait = trustDecisionMayWait
    }
}
