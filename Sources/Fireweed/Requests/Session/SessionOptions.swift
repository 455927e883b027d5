// Options of a session that Alamofire's sessions do not have.

public import FireweedTransport

/// Settings of a session above its transport: stores, credentials from a file, limits.
///
/// Settings of connections are ``TransportOptions``. A session copies its options when it is made.
///
/// ```swift
/// let session = Session(options: SessionOptions(maximumRedirectCount: 5, coalescesRequests: true))
/// ```
public struct SessionOptions: Sendable {
    /// Credentials for hosts: sent with the first message to a host (Basic), or in answer to a challenge for another
    /// scheme.
    ///
    /// `nil`, the default, has none.
    public var netrc: Netrc?

    /// Remembers hosts that are to be reached over TLS only (RFC 6797).
    ///
    /// `nil`, the default, remembers none.
    public var strictTransportSecurity: StrictTransportSecurity?

    /// The store for responses.
    ///
    /// `nil`, the default, uses the configuration's `urlCache`; without one nothing is stored.
    public var responseStore: (any ResponseStore)?

    /// How many redirects one attempt follows; more fail with `URLError.httpTooManyRedirects`.
    ///
    /// `nil`, the default, is 20, as in browsers. A redirect handler may have a number of its own.
    public var maximumRedirectCount: Int?

    /// Whether a request for which there is no route waits for one, instead of failing with
    /// `URLError.notConnectedToInternet`.
    ///
    /// The request waits as long as `timeoutIntervalForResource` allows, then fails with `URLError.timedOut`; the idle
    /// time-out does not run meanwhile. Default: false. `URLSessionConfiguration.waitsForConnectivity`
    /// cannot be set on Linux.
    public var waitsForConnectivity: Bool

    /// The store for responses, if it is reached over a network.
    ///
    /// Used instead of ``responseStore`` unless `nil`, the default.
    public var asyncResponseStore: (any AsyncResponseStore)?

    /// Whether equal GET requests that are under way at the same time are fetched once; false by default.
    ///
    /// Requests are equal when URL, fields, credentials, cache policy and idle time-out are the same; only the fields
    /// `traceparent`, `tracestate` and `baggage` may differ. The first request is sent. The others wait, and are
    /// answered with its stored response (``TaskMetrics/ResponseSource/cache``), if the cache may use that response
    /// without revalidation (RFC 9111 §4). Otherwise, as soon as the head of the response shows this, the others are
    /// sent too, later by the time that they have waited. After that, requests for the same URL do not wait until one
    /// of its responses can be shared. Because of that wait, requests are not coalesced by default: an origin that
    /// delays its answer, as for long polling, would answer equal requests one after the other.
    ///
    /// A failure of the exchange fails the others too. When the first request is cancelled or suspended, or its reader
    /// stops, one of the others is sent instead. No request waits past its own time-outs. A download, and a request
    /// with a `cachedResponseHandler`, may wait for another request, but no request waits for them. Without a store for
    /// responses, nothing is coalesced.
    public var coalescesRequests: Bool

    /// Guards between the session and its transport, such as ``CircuitBreaker`` and ``ConcurrencyLimit``; none by
    /// default.
    ///
    /// The first guard is asked first. The other guards do not get a message that it refuses.
    public var guards: [any TransportGuard]

    /// Closures that copy values of the caller's context, such as task-locals, into each request; none by default.
    ///
    /// Each capture is called twice: when the request is made, and when it is first resumed, both on the thread and in
    /// the task of the caller. It gets empty values each time. Values captured at the resume take precedence over
    /// values captured when the request was made, and ``Request/value(_:for:)`` takes precedence over both.
    public var valueCaptures: [RequestValues.Capture]

    /// Whether cookies depend on the message's own fields, as in curl: the cookies of the host in `Host` are sent and
    /// stored, and those of an own `Cookie` field are sent after them, instead of alone; false by default.
    package var cookiesFollowFields = false

    /// Makes options; omitted options have their defaults.
    ///
    /// - Parameters:
    ///   - netrc: credentials for hosts.
    ///   - strictTransportSecurity: remembers hosts that are to be reached over TLS only.
    ///   - responseStore: where responses are stored.
    ///   - maximumRedirectCount: how many redirects one attempt follows.
    ///   - waitsForConnectivity: whether a request without a route waits for one.
    ///   - asyncResponseStore: where responses are stored instead, for a store that is reached over a network.
    ///   - coalescesRequests: whether equal requests that are under way at the same time are fetched once.
    ///   - guards: guards between the session and its transport.
    ///   - valueCaptures: copy values of the caller's context into each request.
    public init(
        netrc: Netrc? = nil, strictTransportSecurity: StrictTransportSecurity? = nil,
        responseStore: (any ResponseStore)? = nil, maximumRedirectCount: Int? = nil, waitsForConnectivity: Bool = false,
        asyncResponseStore: (any AsyncResponseStore)? = nil, coalescesRequests: Bool = false,
        guards: [any TransportGuard] = [], valueCaptures: [RequestValues.Capture] = []
    ) {
        self.netrc = netrc
        self.strictTransportSecurity = strictTransportSecurity
        self.responseStore = responseStore
        self.maximumRedirectCount = maximumRedirectCount
        self.waitsForConnectivity = waitsForConnectivity
        self.asyncResponseStore = asyncResponseStore
        self.coalescesRequests = coalescesRequests
        self.guards = guards
        self.valueCaptures = valueCaptures
    }
}
