// The connection on which a server received a request.

public import Fireweed

/// The connection on which a ``MockServer`` received a request.
///
/// Requests with the same `number` were received on the same connection.
public struct RecordedConnection: Sendable, Hashable {
    /// The number of the connection, counted from 1 in the order in which the server accepted connections.
    public let number: Int
    /// The HTTP version of the request: `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
    public internal(set) var httpVersion: String
    /// The version of TLS; `nil` in clear text.
    public internal(set) var tlsVersion: TLSVersion?
    /// The client's certificate, verified in the handshake; `nil` when the client sent none, or was not asked for one.
    public internal(set) var clientCertificate: Certificate?
}
