// The protocol on a connection.

/// The version of HTTP that a connection carries: what ALPN agreed on (RFC 7301), or what is known without it.
enum ApplicationProtocol: Hashable {
    /// HTTP/1.1, or HTTP/1.0 where the server answers so.
    case http1
    /// HTTP/2 (RFC 9113).
    case http2
}
