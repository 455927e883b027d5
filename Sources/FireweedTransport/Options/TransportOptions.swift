// Options that `URLSessionConfiguration` lacks.

public import Foundation

/// Settings of a session's transport.
///
/// They hold for every request of the session, and cannot change after the session was made.
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
    /// Whether a request that had to wait for a connection is failed instead of sent when its deadline is out of reach.
    ///
    /// Out of reach is a deadline when less time is left than the quickest tenth of the origin's last fifty responses
    /// took, as far as they are not older than half a minute; the request then fails with
    /// ``OverloadError/deadlineOutOfReach(origin:remaining:needed:)``. Deadlines are `timeoutIntervalForResource` and
    /// `Request.deadline(_:)`. Among the waiting requests with a deadline, those that will probably meet it go first,
    /// and the others take their places. Requests without a deadline, or with one that is more than an hour away, are
    /// never failed, keep their order, and are never overtaken. A request that gets a connection without a wait is
    /// never failed.
    ///
    /// Default: `true`. A server that has too much to do would otherwise work on requests whose clients are gone.
    public var refusesUnreachableDeadlines = true
    /// How many requests may wait for a connection to one origin; of more, those that would be sent last fail with
    /// ``OverloadError/tooManyWaiting(origin:limit:)``.
    ///
    /// Default: `nil`, no limit. With several event loops, each has the limit for itself.
    public var maximumWaitingRequests: Int?
    /// Longest time that a request waits for a connection to become free; then it fails with
    /// ``OverloadError/waitedTooLong(origin:limit:)``.
    ///
    /// Default: `nil`, no limit. While a connection is made for it, a request has `connectTimeout` instead.
    public var maximumConnectionWait: Duration?
    /// Which of the requests that wait for a connection to an origin is sent next.
    ///
    /// Default: `.oldestFirst`.
    public var waitingOrder: WaitingOrder = .oldestFirst
    /// The name of a field that carries the milliseconds left to a request's deadline, such as `X-Request-Deadline-Ms`.
    ///
    /// A server can skip work that would come too late. Default: `nil`, no field. Requests without a deadline have no
    /// such field.
    public var deadlineField: String?
    /// The proxy to use.
    ///
    /// `nil`, the default, takes it from the configuration's `connectionProxyDictionary` where there is one, else from
    /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`. Where the environment names no proxy, a session may not
    /// notice a proxy that is set there later.
    public var proxy: Proxy?
    /// The proxies of the session's configuration, which `proxy` replaces; `nil` where it names none.
    package var configuredProxies: ConfiguredProxies?
    /// Values that replace those of the environment's variables for proxies; an empty value counts as not set.
    package var proxyVariables: [String: String] = [:]
    /// The path of a Unix-domain socket to send every request through, whatever the URL's host.
    ///
    /// Default: `nil`.
    public var unixSocketPath: String?
    /// The certification authorities to trust.
    ///
    /// Default: `.system`.
    public var certificateAuthorities: CertificateAuthorities = .system
    /// The client identity for servers that ask for a client certificate.
    ///
    /// Default: `nil`.
    public var clientIdentity: ClientIdentity?
    /// The client identities for single hosts, instead of `clientIdentity`; `nil` for a host that is to see no
    /// certificate.
    ///
    /// Hosts compare by their canonical form: without case, in Unicode or as A-labels, with or without a dot at the
    /// end, and IP addresses by value.
    public var clientIdentities: [String: ClientIdentity?] = [:]
    /// The oldest version of TLS to accept.
    ///
    /// Default: TLS 1.2.
    public var minimumTLSVersion: TLSVersion = .tls12
    /// The newest version of TLS to offer.
    ///
    /// Default: `nil`, the newest there is.
    public var maximumTLSVersion: TLSVersion?
    /// The ciphers to offer up to TLS 1.2, in OpenSSL's notation (openssl-ciphers(1)), such as `ECDHE+AESGCM`.
    ///
    /// Default: `nil`, OpenSSL's own list. A list that names no cipher fails every handshake with
    /// `secureConnectionFailed`.
    public var cipherList: String?
    /// The cipher suites to offer in TLS 1.3, by their names and separated by colons, such as `TLS_AES_128_GCM_SHA256`.
    ///
    /// Default: `nil`, OpenSSL's own list. A list that names no suite fails every handshake with
    /// `secureConnectionFailed`.
    public var cipherSuites: String?
    /// Whether versions of HTTP are offered in the handshake (ALPN, RFC 7301): those that `httpVersion` allows.
    ///
    /// Default: `true`. Without the offer, HTTP/1.1 is spoken.
    package var offersALPN = true
    /// A file to append the secrets of TLS connections to, in the form of NSS key logs.
    ///
    /// Its readers can decrypt the connections. Default: `nil`. The environment variable `SSLKEYLOGFILE` has no effect.
    /// The file is made for this user alone; when it cannot be opened, nothing is written.
    public var keyLogFile: URL?
    /// Which addresses may be connected to, after names were looked up.
    ///
    /// Default: `.none`, which refuses nothing.
    public var addressGuard: AddressGuard = .none
    /// How many threads move this session's bytes; they are shared with the process's other sessions.
    ///
    /// Default: 1.
    public var eventLoops = 1
    /// How many bytes the heads and trailers of one exchange may have; more fail with `TransferRefusal.headerBytes`.
    ///
    /// Default: 300 KiB.
    public var maximumHeaderByteCount = 300 * 1024
    /// How many fields one head or trailer section may have; more fail with `TransferRefusal.headerFields`.
    ///
    /// Default: 1,000.
    public var maximumHeaderFieldCount = 1000
    /// How many interim responses (RFC 9110 §15.2) one exchange may have; more fail with
    /// `TransferRefusal.interimResponses`.
    ///
    /// Default: 100.
    public var maximumInterimResponseCount = 100
    /// Fields with credentials, besides `Authorization` and `Cookie`.
    ///
    /// A redirect to another origin drops them; `RedirectHandler.credentialFieldNames` changes that for a request. A
    /// stored response answers only requests with the same values in them, unless the response is `public`. Names are
    /// compared without case. Default: `standardCredentialFieldNames`. The fields of the session's configuration are
    /// dropped too.
    ///
    /// While the list has all of the standard names, every field whose name has the word of a secret, such as
    /// `X-Acme-Token`, counts as listed: the fields that logs hide. `URLSession` and Alamofire keep all but
    /// `Authorization` and `Cookie`; an empty list does the same.
    public var credentialFieldNames: [String] = standardCredentialFieldNames
    /// Longest content of a response, in bytes after decoding; a longer one fails with `TransferRefusal.bodyBytes`.
    ///
    /// Default: `nil`, no limit.
    public var maximumBodyByteCount: Int?
    /// The highest ratio of a content's decoded to its received bytes; more fails with `TransferRefusal.expansion`.
    ///
    /// Up to 16 MiB of decoded content is allowed at any ratio. With several content codings, the output of each is
    /// held to the limit, and to `maximumBodyByteCount`. Default: 200; `nil` for no limit.
    public var maximumExpansionRatio: Int? = 200
    /// How many content codings a response may have (RFC 9110 §8.4); more fail with
    /// `URLError.cannotDecodeContentData`.
    ///
    /// Each coding multiplies the number of bytes that a received byte can expand to. `identity` is not counted, and
    /// responses with an unknown coding are handed on undecoded. Default: 2; zero or less refuses coded content.
    public var maximumContentCodingCount = 2
    /// How many bytes may come on a connection without any header field or content among them; more fail with
    /// `TransferRefusal.framingBytes`.
    ///
    /// It bounds chunk extensions (RFC 9112 §7.1.1), and frames of HTTP/2 that carry nothing. Bytes that are on their
    /// way for a cancelled stream are not counted. Default: 256 KiB.
    public var maximumFramingByteCount = 256 * 1024
    /// How long an idle connection is kept, unless the server announces less.
    ///
    /// Default: 60 seconds.
    public var maximumConnectionIdleTime: Duration = .seconds(60)
    /// The number of idle connections that a session keeps on each of its loops, to all hosts together.
    ///
    /// The longest idle ones are closed first. All sessions of a process together keep a quarter of the descriptors
    /// that it may have, at most. Default: 256; zero or less keeps none.
    public var maximumIdleConnections = 256

    /// Addresses to connect to instead of a name lookup: a host, and its IPv4 and IPv6 addresses.
    ///
    /// Hosts compare as in `clientIdentities`. IPv6 addresses stand without brackets. They are tried as looked-up ones
    /// are (happy eyeballs, RFC 8305): both families race, IPv6 with a head start of 250 ms. Empty by default.
    /// Certificates are still checked for the host.
    public var addressOverrides: [String: [String]] = [:]

    /// The version of the Internet Protocol to connect with.
    ///
    /// Default: `.any`. A name without an address of the version fails with `URLError.cannotFindHost`, an address of
    /// the other version with `cannotConnectToHost`. With a proxy, the version is that of the connection to the proxy.
    public var ipVersion: IPVersion = .any

    /// Where connections leave this machine: the name of a network interface, or one of its IP addresses.
    ///
    /// Default: `nil`, as the kernel routes. A name can be written as `if!NAME`, and an address as `host!ADDRESS`, to
    /// rule out that one is taken for the other. A request fails with `URLError.cannotConnectToHost` when no interface
    /// has the name or the address.
    public var networkInterface: String?

    /// Rules that connect to another host and port than the URL's; the first that applies wins.
    ///
    /// Empty by default. Certificates are still checked for the URL's host. With a proxy, the proxy is asked for the
    /// other host.
    public var connectionRoutes: [ConnectionRoute] = []

    /// The most bytes of content that one request receives per second, on average.
    ///
    /// Default: `nil`, no limit; zero or less means `nil`. Each exchange has the rate for itself. At once come
    /// the bytes of a second, but no more than 100 KiB, or those of a quarter of a second where they are more; shorter
    /// content is not slowed down.
    /// The idle time-out continues to run while a request waits for its rate. WebSockets ignore the rate.
    public var maximumReceivedBytesPerSecond: Int?

    /// The most bytes of content that one request sends per second, on average.
    ///
    /// Default: `nil`, no limit; zero or less means `nil`. Each exchange has the rate for itself. WebSockets ignore the
    /// rate.
    public var maximumSentBytesPerSecond: Int?

    /// The most bytes that are read from a connection at once, from 1,024 to 524,288.
    ///
    /// Connections of one event loop share a buffer. Default: `nil`, which is 65,536, and for content that is streamed
    /// or downloaded 262,144.
    package var receiveBufferByteCount: Int?

    /// Is notified of connections that are opened and closed; `nil`, the default, for none.
    public var connectionObserver: (any ConnectionObserver)?

    /// Receives heads as they are on the wire; `nil` by default.
    package var wireObserver: (any WireObserver)?
    /// How fields are written; `nil`, the default, as messages have them.
    package var fieldWriting: FieldWriting?
    /// Whether content is decoded, as by default; otherwise it is delivered as received.
    package var decodesContent = true

    /// Makes the default options.
    public init() {}

    /// The client identity for a host; `nil` for none.
    package func identity(forHost host: String) -> ClientIdentity? {
        // An entry may be `nil`: the host is to see no certificate.
        guard let own = CanonicalHost.rule(for: host, in: clientIdentities) else { return clientIdentity }
        return own
    }
}

extension TransportOptions {
    /// Which of several waiting requests is sent next.
    public enum WaitingOrder: Sendable, Hashable, CaseIterable {
        /// The one that has waited longest.
        case oldestFirst
        /// The one that came last: under a long overload, its client is the most likely to be waiting still.
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

    /// Orders versions by age, the oldest first.
    public static func < (left: TLSVersion, right: TLSVersion) -> Bool {
        left.rawValue < right.rawValue
    }
}
