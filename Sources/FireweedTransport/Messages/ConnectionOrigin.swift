// The origin of a connection, in public form.

/// Scheme, host and port of an origin (RFC 9110 §4.3.1).
public struct ConnectionOrigin: Sendable, Hashable, CustomStringConvertible {
    /// `http` or `https`.
    public var scheme: String
    /// The host in its canonical form, without brackets.
    public var host: String
    /// The port.
    public var port: Int

    /// Makes an origin from its parts.
    ///
    /// - Parameters:
    ///   - scheme: `http` or `https`.
    ///   - host: the host, without brackets.
    ///   - port: the port.
    public init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The origin as a URL, always with its port.
    public var description: String { "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
