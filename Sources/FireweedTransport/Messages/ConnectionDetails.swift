// The common properties of a connection's exchanges.

/// The two ends of a connection, its protocol and its TLS; made once, and shared by the reports of its exchanges.
public final class ConnectionDetails: Sendable {
    /// The protocol as ALPN names it, `http/1.1` or `h2`, or `nil` when no response came.
    public let protocolName: String?
    /// Our address and port, or `nil` when there was no connection.
    public let localEndpoint: (address: String, port: Int)?
    /// The peer's address and port, or `nil` when there was no connection.
    public let remoteEndpoint: (address: String, port: Int)?
    /// TLS, or `nil` in clear text.
    public let tls: TransferReport.TLS?

    /// Makes details from their parts.
    ///
    /// - Parameters:
    ///   - protocolName: the protocol as ALPN names it, `http/1.1` or `h2`; `nil` when no response came.
    ///   - localEndpoint: our address and port; `nil` when there was no connection.
    ///   - remoteEndpoint: the peer's address and port; `nil` when there was no connection.
    ///   - tls: what was agreed on for TLS; `nil` in clear text.
    public init(
        protocolName: String?, localEndpoint: (address: String, port: Int)?,
        remoteEndpoint: (address: String, port: Int)?, tls: TransferReport.TLS?
    ) {
        self.protocolName = protocolName
        self.localEndpoint = localEndpoint
        self.remoteEndpoint = remoteEndpoint
        self.tls = tls
    }
}
