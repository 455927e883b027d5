// What libcurl can do and `URLSessionConfiguration` cannot say.

/// Settings of a session's transport.
///
/// They hold for every request of the session, and cannot change after it was made.
public struct TransportOptions: Sendable {
    /// The version of HTTP to speak.
    ///
    /// Default: `.automatic`.
    public var httpVersion: RequestMessage.HTTPVersion = .automatic
    /// Longest time to make a connection: name lookup, TCP, proxy `CONNECT` and TLS handshake together.
    ///
    /// `nil`, the default, leaves only the idle time-out; zero or less means `nil`. A reused connection ignores it. On
    /// expiry: `URLError.timedOut`. A retry starts the clock again.
    public var connectTimeout: Duration?
    /// The proxy to use.
    ///
    /// `nil`, the default, takes it from `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
    public var proxy: Proxy?
    /// The path of a Unix-domain socket to send every request through, whatever the URL's host.
    ///
    /// Default: `nil`.
    public var unixSocketPath: String?
    /// The certification authorities to trust.
    ///
    /// Default: `.system`.
    public var certificateAuthorities: CertificateAuthorities = .system
    /// Who we are, when a server asks for a client certificate.
    ///
    /// Default: nobody.
    public var clientIdentity: ClientIdentity?
    /// The oldest version of TLS to accept.
    ///
    /// Default: TLS 1.2.
    public var minimumTLSVersion: TLSVersion = .tls12
    /// The newest version of TLS to offer.
    ///
    /// Default: `nil`, the newest there is.
    public var maximumTLSVersion: TLSVersion?
    /// How many threads move this session's bytes; they are shared with the process's other sessions.
    ///
    /// Default: 1.
    public var eventLoops = 1
    /// Longest header section of a response, in bytes; a longer one fails with `dataLengthExceedsMaximum`.
    ///
    /// Default: 300 KiB.
    public var maximumHeaderByteCount = 300 * 1024
    /// Longest content of a response, in bytes after decoding; a longer one fails with `dataLengthExceedsMaximum`.
    ///
    /// Default: `nil`, no limit.
    public var maximumBodyByteCount: Int?
    /// How long connections are kept when the session has nothing to do.
    ///
    /// Default: 60 seconds.
    public var maximumConnectionIdleTime: Duration = .seconds(60)

    /// Addresses to connect to in the place of a name lookup: a host in lower case, and its IPv4 and IPv6 addresses.
    ///
    /// IPv6 addresses stand without brackets. They are tried as looked-up ones are (happy eyeballs, RFC 8305): both families
    /// race, IPv6 with a head start of 200 ms. Empty by default. Certificates are still checked for the host.
    public var addressOverrides: [String: [String]] = [:]

    /// The most bytes that are read from a connection at once, from 1,024 to 524,288; 122,880 by default.
    ///
    /// Each transfer that runs has a buffer of this size, of which only what was read takes memory.
    public var receiveBufferByteCount = 120 * 1024

    /// Makes the default options.
    public init() {}
}

/// A version of TLS.
public enum TLSVersion: Int, Sendable, Comparable {
    /// TLS 1.0 (RFC 2246), deprecated by RFC 8996.
    case tls10
    /// TLS 1.1 (RFC 4346), deprecated by RFC 8996.
    case tls11
    /// TLS 1.2 (RFC 5246).
    case tls12
    /// TLS 1.3 (RFC 8446).
    case tls13

    /// Orders versions by age, the oldest first.
    public static func < (left: TLSVersion, right: TLSVersion) -> Bool {
        left.rawValue < right.rawValue
    }
}
