// The numbers of one finished transfer.

/// The durations and byte counts of a transfer, as the engine measured them.
///
/// Filled in while the transfer proceeds: the values are final only when the transfer has ended.
public struct TransferReport: Sendable {
    /// TLS as it was agreed on for the connection.
    public struct TLS: Sendable, Hashable {
        /// The version, as `TLSv1.3`.
        public var version: String
        /// The cipher suite, in OpenSSL's name.
        public var cipher: String
    }

    /// When the transfer began, in nanoseconds since 1970 (the years 1677 to 2262).
    ///
    /// From then on the transfer may wait in its origin's queue for a connection.
    public var startNanoseconds: Int64 = 0
    /// Microseconds from the start that the transfer waited in its origin's queue for a connection.
    package var waited: Int64 = 0
    /// Whether the transfer ended in the queue of its origin, without a connection of its own under construction.
    package var isUnassigned = false
    /// Microseconds that the name's look-up took, where it came before the engine's work.
    package var lookedUp: Int64 = 0
    /// Microseconds from the start until the name was looked up, or 0.
    public var nameLookup: Int64 = 0
    /// Microseconds from the start until the connection to the peer or its proxy was made, or 0.
    public var connect: Int64 = 0
    /// Microseconds from the start until the TLS handshake was done, or 0.
    public var secureConnect: Int64 = 0
    /// Microseconds from the start until the request began to leave, or 0.
    public var requestStart: Int64 = 0
    /// Microseconds from the start until the last byte of the content had been handed over; 0 without content.
    public var requestEnd: Int64 = 0
    /// Microseconds from the start until the first byte of the response, or 0.
    public var responseStart: Int64 = 0
    /// Microseconds from the start until the end.
    public var total: Int64 = 0
    /// Bytes of the request's head.
    public var requestHeaderByteCount: Int64 = 0
    /// Bytes of the request's content that were sent.
    public var requestBodyByteCount: Int64 = 0
    /// Bytes of all response heads.
    public var responseHeaderByteCount: Int64 = 0
    /// Bytes of the response's content as they came in, content coding still on.
    public var responseBodyByteCount: Int64 = 0
    /// Bytes of the response's content after decoding.
    public var responseDecodedByteCount: Int64 = 0
    /// True when a connection was reused that existed before.
    public var isReusedConnection = false
    /// The connection that was used, or `nil` when there was none.
    public var connection: ConnectionDetails?

    /// Makes an empty report.
    public init() {}

    /// The protocol as ALPN names it, `http/1.1` or `h2`, or `nil` when no response came.
    public var protocolName: String? { connection?.protocolName }
    /// Our address and port, or `nil` when there was no connection.
    public var localEndpoint: (address: String, port: Int)? { connection?.localEndpoint }
    /// The peer's address and port, or `nil` when there was no connection.
    public var remoteEndpoint: (address: String, port: Int)? { connection?.remoteEndpoint }
    /// TLS, or `nil` in clear text.
    public var tls: TLS? { connection?.tls }
}
