// The options of a transport, which `URLSessionConfiguration` lacks.

public import Foundation

/// Settings of a session's transport.
///
/// They apply to every request of the session, and cannot change after the session is made.
public struct TransportOptions: Sendable {
    /// The version of HTTP to speak.
    ///
    /// Default: `.automatic`.
    public var httpVersion: RequestMessage.HTTPVersion = .automatic
    /// The longest time to make a connection: name look-up, TCP, proxy `CONNECT` and TLS handshake together.
    ///
    /// `nil`, the default, leaves only the idle time-out; zero or less means `nil`. A reused connection ignores it. On
    /// expiry: `URLError.timedOut`. A retry starts the time again.
    public var connectTimeout: Duration?
    /// Whether a request that waited for a connection fails, instead of being sent, if it cannot meet its deadline.
    ///
    /// A request cannot meet its deadline if it has less time left than the quickest tenth of the origin's last fifty
    /// responses took (responses older than half a minute are ignored). It then fails with
    /// ``OverloadError/deadlineOutOfReach(origin:remaining:needed:)``. Deadlines are `timeoutIntervalForResource` and
    /// `Request.deadline(_:)`.
    ///
    /// Among the waiting requests with a deadline, those that will probably meet it are sent first, and the others take
    /// their places in the queue. Requests without a deadline, or with one more than an hour away, never fail here,
    /// keep their order, and are never overtaken. A request that gets a connection without waiting never fails here.
    ///
    /// Default: `true`. Otherwise an overloaded server would work on requests whose clients have given up.
    public var refusesUnreachableDeadlines = true
    /// The most requests that may wait for a connection to one origin; beyond it, the requests that would be sent last
    /// fail with ``OverloadError/tooManyWaiting(origin:limit:)``.
    ///
    /// Default: `nil`, no limit. With several event loops, the limit applies to each loop separately.
    public var maximumWaitingRequests: Int?
    /// The longest time that a request waits for a connection to become free; it then fails with
    /// ``OverloadError/waitedTooLong(origin:limit:)``.
    ///
    /// Default: `nil`, no limit. While a connection is made for the request, `connectTimeout` applies instead.
    public var maximumConnectionWait: Duration?
    /// The order in which requests that wait for a connection to an origin are sent.
    ///
    /// Default: `.oldestFirst`.
    public var waitingOrder: WaitingOrder = .oldestFirst
    /// The name of a field for the milliseconds left until a request's deadline, such as `X-Request-Deadline-Ms`.
    ///
    /// A server can use it to skip work that would finish too late. Default: `nil`, no field. Requests without a
    /// deadline are sent without the field.
    public var deadlineField: String?
    /// The proxy to use.
    ///
    /// `nil`, the default, uses the configuration's `connectionProxyDictionary` if there is one, else `http_proxy`,
    /// `https_proxy`, `all_proxy` and `no_proxy`. If the environment names no proxy at first, a session may not notice
    /// a proxy that is set there later.
    public var proxy: Proxy?
    /// The proxies of the session's configuration, which `proxy` overrides; `nil` if the configuration has none.
    package var configuredProxies: ConfiguredProxies?
    /// Values that override the environment's proxy variables; an empty value is treated as not set.
    package var proxyVariables: [String: String] = [:]
    /// `Proxy.alwaysTunnels` of proxies in variables.
    package var tunnelsByVariables = false
    /// `Proxy.authentication` of proxies in variables; `nil` for the default.
    package var authenticationByVariables: AuthenticationSchemes?
    /// The path of a Unix-domain socket to send every request through, whatever the URL's host.
    ///
    /// Default: `nil`.
    public var unixSocketPath: String?
    /// The certification authorities to trust.
    ///
    /// Default: `.system`.
    public var certificateAuthorities: CertificateAuthorities = .system
    /// The client identity for servers that request a client certificate.
    ///
    /// Default: `nil`.
    public var clientIdentity: ClientIdentity?
    /// Client identities for certain hosts, which override `clientIdentity`; `nil` for a host that must not get a
    /// certificate.
    ///
    /// Hosts are compared in canonical form: ignoring case, Unicode equal to A-labels, with or without a final dot, and
    /// IP addresses by value.
    public var clientIdentities: [String: ClientIdentity?] = [:]
    /// The oldest version of TLS to accept.
    ///
    /// Default: TLS 1.2.
    public var minimumTLSVersion: TLSVersion = .tls12
    /// The newest version of TLS to offer.
    ///
    /// Default: `nil`, the newest that OpenSSL supports.
    public var maximumTLSVersion: TLSVersion?
    /// The ciphers to offer up to TLS 1.2, in OpenSSL's notation (openssl-ciphers(1)), such as `ECDHE+AESGCM`.
    ///
    /// Default: `nil`, OpenSSL's own list. With a list that OpenSSL refuses, such as one without a known cipher, every
    /// handshake fails with `secureConnectionFailed`.
    public var cipherList: String?
    /// The names of the cipher suites to offer in TLS 1.3, separated by colons, such as `TLS_AES_128_GCM_SHA256`.
    ///
    /// Default: `nil`, OpenSSL's own list. With a list that OpenSSL refuses, such as one without a known suite, every
    /// handshake fails with `secureConnectionFailed`.
    public var cipherSuites: String?
    /// Whether the handshake offers the versions of HTTP that `httpVersion` allows (ALPN, RFC 7301).
    ///
    /// Default: `true`. Without the offer, connections use HTTP/1.1.
    package var offersALPN = true
    /// A file to which the secrets of TLS connections are appended, in the NSS key log format.
    ///
    /// Anyone who can read the file can decrypt the connections. Default: `nil`. The environment variable
    /// `SSLKEYLOGFILE` has no effect. A new file is readable by this user only; if the file cannot be opened, nothing
    /// is written.
    public var keyLogFile: URL?
    /// The check of addresses before connecting to them, after names were looked up.
    ///
    /// Default: `.none`, which refuses nothing.
    public var addressGuard: AddressGuard = .none
    /// The number of threads that transfer this session's bytes; the process's other sessions use the same threads.
    ///
    /// Default: 1.
    public var eventLoops = 1
    /// The most bytes in the heads and trailers of one exchange; beyond it, the request fails with
    /// `TransferRefusal.headerBytes`.
    ///
    /// Default: 300 KiB.
    public var maximumHeaderByteCount = 300 * 1024
    /// The most fields in one head or trailer section; beyond it, the request fails with
    /// `TransferRefusal.headerFields`.
    ///
    /// Default: 1,000.
    public var maximumHeaderFieldCount = 1000
    /// The most interim responses (RFC 9110 §15.2) of one exchange; beyond it, the request fails with
    /// `TransferRefusal.interimResponses`.
    ///
    /// Default: 100.
    public var maximumInterimResponseCount = 100
    /// The names of fields that carry credentials, besides `Authorization` and `Cookie`.
    ///
    /// A redirect to another origin drops these fields; `RedirectHandler.credentialFieldNames` changes that for a
    /// request. A stored response is reused only for requests with the same values in these fields, unless the response
    /// is `public`. Names are compared ignoring case. Default: `standardCredentialFieldNames`. The fields of the
    /// session's configuration are dropped too.
    ///
    /// While the list contains all standard names, it also covers every field whose name contains the word of a secret,
    /// such as `X-Acme-Token`: the fields whose values logs hide. `URLSession` and Alamofire keep all fields except
    /// `Authorization` and `Cookie`; an empty list does the same.
    public var credentialFieldNames: [String] = standardCredentialFieldNames
    /// The longest content of a response, in bytes after decoding; longer content fails with
    /// `TransferRefusal.bodyBytes`.
    ///
    /// Default: `nil`, no limit.
    public var maximumBodyByteCount: Int?
    /// The highest ratio of a content's decoded to received bytes; a higher ratio fails with
    /// `TransferRefusal.expansion`.
    ///
    /// Up to 16 MiB of decoded content is allowed at any ratio. With several content codings, this limit and
    /// `maximumBodyByteCount` apply to the output of each coding. Default: 200; `nil` for no limit.
    public var maximumExpansionRatio: Int? = 200
    /// The most content codings of a response (RFC 9110 §8.4); more fail with `URLError.cannotDecodeContentData`.
    ///
    /// Each coding multiplies the number of bytes that a received byte can expand to. `identity` is not counted, and a
    /// response with an unknown coding is delivered undecoded. Default: 2; zero or less refuses coded content.
    public var maximumContentCodingCount = 2
    /// The most bytes in a row without a header field or content on a connection; more fail with
    /// `TransferRefusal.framingBytes`.
    ///
    /// It limits chunk extensions (RFC 9112 §7.1.1), and HTTP/2 frames that carry neither. Bytes in flight for a
    /// cancelled stream are not counted. Default: 256 KiB.
    public var maximumFramingByteCount = 256 * 1024
    /// The longest time that an idle connection is kept; shorter if the server announces less.
    ///
    /// Default: 60 seconds.
    public var maximumConnectionIdleTime: Duration = .seconds(60)
    /// The most idle connections that a session keeps on each of its loops, to all hosts together.
    ///
    /// The connections that have been idle longest are closed first. All sessions of a process together keep at most a
    /// quarter of the descriptors that the process may have. Default: 256; zero or less keeps none.
    public var maximumIdleConnections = 256

    /// The addresses to connect to instead of looking a name up: keys are hosts, values their IPv4 and IPv6 addresses.
    ///
    /// Hosts are compared as in `clientIdentities`. IPv6 addresses have no brackets. The addresses are tried like
    /// looked-up addresses (happy eyeballs, RFC 8305): IPv6 starts 250 ms before IPv4. Empty by default. Certificates
    /// are still checked for the host.
    public var addressOverrides: [String: [String]] = [:]

    /// The versions of the Internet Protocol to connect with.
    ///
    /// Default: `.any`. A name without an address of the version fails with `URLError.cannotFindHost`, an address of
    /// the other version with `cannotConnectToHost`. With a proxy, the option applies to the connection to the proxy.
    public var ipVersion: IPVersion = .any

    /// The local end of connections: the name of a network interface, or one of its IP addresses.
    ///
    /// Default: `nil`, which leaves the choice to the kernel's routes. To make clear which of the two is meant, write a
    /// name as `if!NAME`, and an address as `host!ADDRESS`. A request fails with `URLError.cannotConnectToHost` if no
    /// interface has the name or the address.
    public var networkInterface: String?

    /// Rules that replace the host and port to connect to; the first rule that applies is used.
    ///
    /// Empty by default. Certificates are still checked for the URL's host. With a proxy, the proxy connects to the
    /// other host.
    public var connectionRoutes: [ConnectionRoute] = []

    /// The most bytes of content that one request receives per second, on average.
    ///
    /// Default: `nil`, no limit; zero or less means `nil`. The rate applies to each exchange separately. At the start a
    /// burst is received at full speed, so that short content is not slowed down: the bytes of one second, but at most
    /// 100 KiB or the bytes of a quarter of a second, whichever is more. The idle time-out continues to run while the
    /// rate holds a request back. WebSockets ignore the rate.
    public var maximumReceivedBytesPerSecond: Int?

    /// The most bytes of content that one request sends per second, on average.
    ///
    /// Default: `nil`, no limit; zero or less means `nil`. The rate applies to each exchange separately. WebSockets
    /// ignore the rate.
    public var maximumSentBytesPerSecond: Int?

    /// The most bytes of one read from a connection, from 1,024 to 524,288.
    ///
    /// Connections of one event loop share a buffer. Default: `nil`, which means 65,536, and 262,144 for content that
    /// is streamed or downloaded.
    package var receiveBufferByteCount: Int?

    /// The observer of connections that are opened and closed; `nil`, the default, for none.
    public var connectionObserver: (any ConnectionObserver)?

    /// The observer of heads as they are on the wire; `nil` by default.
    package var wireObserver: (any WireObserver)?
    /// The rules for writing fields; `nil`, the default, writes the fields of messages unchanged.
    package var fieldWriting: FieldWriting?
    /// Whether content is decoded, the default; if false, content is delivered as received.
    package var decodesContent = true

    /// Makes the default options.
    public init() {}

    /// Returns the client identity for a host; `nil` for none.
    package func identity(forHost host: String) -> ClientIdentity? {
        // An entry of `clientIdentities` may be `nil`: its host gets no client certificate.
        guard let own = CanonicalHost.rule(for: host, in: clientIdentities) else { return clientIdentity }
        return own
    }
}

extension TransportOptions {
    /// The order in which waiting requests are sent.
    public enum WaitingOrder: Sendable, Hashable, CaseIterable {
        /// The request that has waited longest is sent next.
        case oldestFirst
        /// The request that came last is sent next: in a long overload, its client is the most likely to be still
        /// waiting.
        case newestFirst
    }
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

    /// Orders versions by age, oldest first.
    public static func < (left: TLSVersion, right: TLSVersion) -> Bool {
        left.rawValue < right.rawValue
    }
}
