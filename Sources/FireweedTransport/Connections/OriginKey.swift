// Who may share a connection.

/// The scheme, host and port that a connection is for (RFC 9110 §4.3.1).
///
/// All else that a connection depends on (overrides, guard, trust, identity) is the session's, as connections are. The
/// user that a connection is authenticated for will be part of the key.
struct OriginKey: Hashable, Sendable {
    var isSecure: Bool
    /// In its canonical form, without brackets.
    var host: String
    var port: UInt16
    /// The proxy on the way, with its credentials; `nil` for a direct connection.
    var proxy: Proxy?

    /// The origin of a target.
    init(_ target: RequestTarget, proxy: Proxy?) {
        self.proxy = proxy
        isSecure = target.isSecure
        host = CanonicalHost.text(of: target.host)
        port = UInt16(truncatingIfNeeded: target.port)
    }
}
