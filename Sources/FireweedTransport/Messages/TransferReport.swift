// The measurements of one transfer.

/// The durations and byte counts of a transfer, as the engine measured them.
///
/// It is filled in during the transfer: the values are final only when the transfer has ended.
public struct TransferReport: Sendable {
    /// The negotiated TLS parameters of the connection.
    public struct TLS: Sendable, Hashable {
        /// The version, such as `TLSv1.3`.
        public var version: String
        /// The cipher suite, by OpenSSL's name.
        public var cipher: String
    }

    /// The start of the transfer, in nanoseconds since 1970 (the years 1677 to 2262).
    ///
    /// After the start, the transfer may wait for a connection in its origin's queue.
    public var startNanoseconds: Int64 = 0
    /// Microseconds from the start during which the transfer waited for a connection in its origin's queue.
    package var waited: Int64 = 0
    /// Whether the transfer ended in its origin's queue while no connection was being made for it and none had failed.
    package var isUnassigned = false
    /// Microseconds from the first work on the connection until its name was looked up.
    package var lookedUp: Int64 = 0
    /// Microseconds from the start until the name was looked up; 0 if that did not happen.
    public var nameLookup: Int64 = 0
    /// Microseconds from the start until the connection to the peer or its proxy was made; 0 if that did not happen.
    public var connect: Int64 = 0
    /// Microseconds from the start until the TLS handshake was done; 0 if that did not happen.
    public var secureConnect: Int64 = 0
    /// Microseconds from the start until the first byte of the request was sent; 0 if that did not happen.
    public var requestStart: Int64 = 0
    /// Microseconds from the start until the last byte of the content was passed to the connection; 0 without content.
    public var requestEnd: Int64 = 0
    /// Microseconds from the start until the first byte of the response was received; 0 if that did not happen.
    public var responseStart: Int64 = 0
    /// Microseconds from the start until the end.
    public var total: Int64 = 0
    /// The bytes of the request's head.
    public var requestHeaderByteCount: Int64 = 0
    /// The bytes of the request's content that were sent.
    public var requestBodyByteCount: Int64 = 0
    /// The bytes of all response heads.
    public var responseHeaderByteCount: Int64 = 0
    /// The bytes of the response's content as received, before content decoding.
    public var responseBodyByteCount: Int64 = 0
    /// The bytes of the response's content after decoding.
    public var responseDecodedByteCount: Int64 = 0
    /// Whether the transfer reused an existing connection.
    public var isReusedConnection = false
    /// Whether the connection leads through a proxy.
    public var usesProxy = false
    /// The connection that was used; `nil` if there was none.
    public var connection: ConnectionDetails?

    /// Makes an empty report.
    public init() {}

    /// The protocol's ALPN name, `http/1.1` or `h2`; `nil` if no response came.
    public var protocolName: String? { connection?.protocolName }
    /// Our address and port; `nil` if there was no connection.
    public var localEndpoint: (address: String, port: Int)? { connection?.localEndpoint }
    /// The peer's address and port; `nil` if there was no connection.
    public var remoteEndpoint: (address: String, port: Int)? { connection?.remoteEndpoint }
    /// The TLS parameters; `nil` in clear text.
    public var tls: TLS? { connection?.tls }
}
