// The properties that all exchanges of a connection share.

/// The endpoints, the protocol and the TLS parameters of a connection, shared by the reports of its exchanges.
public final class ConnectionDetails: Sendable {
    /// The protocol's ALPN name, `http/1.1` or `h2`; `nil` if no response came.
    public let protocolName: String?
    /// Our address and port; `nil` if there was no connection.
    public let localEndpoint: (address: String, port: Int)?
    /// The peer's address and port; `nil` if there was no connection.
    public let remoteEndpoint: (address: String, port: Int)?
    /// The TLS parameters; `nil` in clear text.
    public let tls: TransferReport.TLS?

    /// Makes details from their parts.
    ///
    /// - Parameters:
    ///   - protocolName: the protocol's ALPN name, `http/1.1` or `h2`; `nil` if no response came.
    ///   - localEndpoint: our address and port; `nil` if there was no connection.
    ///   - remoteEndpoint: the peer's address and port; `nil` if there was no connection.
    ///   - tls: the negotiated TLS parameters; `nil` in clear text.
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
