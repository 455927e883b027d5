// The version of HTTP on a connection.

/// The version of HTTP on a connection: negotiated by ALPN (RFC 7301), or known without ALPN.
enum ApplicationProtocol: Hashable {
    /// HTTP/1.1; or HTTP/1.0, if the server answers in that version.
    case http1
    /// HTTP/2 (RFC 9113).
    case http2
}
