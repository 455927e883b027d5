// Convenience initialisers of sessions.

public import Dispatch
public import FireweedTransport
public import FoundationNetworking

extension Session {
    /// Makes a session.
    ///
    /// ```swift
    /// let session = Session(interceptor: .retryPolicy)
    /// ```
    ///
    /// - Parameters:
    ///   - configuration: time-outs, header fields, cookies and connection limit; copied.
    ///     `URLSessionConfiguration.af.default` by default.
    ///   - delegate: has the file manager for downloads. A subclass is notified of every task, and makes those
    ///     decisions that it overrides.
    ///   - rootQueue: where the session's own asynchronous work runs; must be serial.
    ///   - startRequestsImmediately: whether the first response handler resumes a request; true by default.
    ///   - requestSetup: when the `URLRequest` of a request is made; when the request is first resumed, by default.
    ///   - requestQueue: where requests are made and adapted; `nil`, the default, does it on the thread that resumes
    ///     them.
    ///   - serializationQueue: where response serialisers run; `nil`, the default, makes a queue.
    ///   - interceptor: adapts and retries every request, before the request's own interceptor.
    ///   - serverTrustManager: evaluates servers inside the TLS handshake; `nil`, the default, asks the certificate
    ///     authorities of the system.
    ///   - redirectHandler: decides about redirects; `nil`, the default, follows them.
    ///   - cachedResponseHandler: decides what is stored in the cache; `nil`, the default, stores what RFC 9111 allows.
    ///   - eventMonitors: are notified of every event; by default one that posts the notifications.
    public convenience init(
        configuration: URLSessionConfiguration = URLSessionConfiguration.af.default,
        delegate: SessionDelegate = SessionDelegate(),
        rootQueue: DispatchQueue = DispatchQueue(label: "org.alamofire.session.rootQueue"),
        startRequestsImmediately: Bool = true, requestSetup: RequestSetup = .lazy, requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [AlamofireNotifications()]
    ) {
        self.init(
            configuration: configuration, delegate: delegate, rootQueue: rootQueue,
            startRequestsImmediately: startRequestsImmediately, requestSetup: requestSetup, requestQueue: requestQueue,
            serializationQueue: serializationQueue, interceptor: interceptor, serverTrustManager: serverTrustManager,
            redirectHandler: redirectHandler, cachedResponseHandler: cachedResponseHandler,
            eventMonitors: eventMonitors, transportOptions: TransportOptions())
    }

    /// Makes a session with settings that a `URLSessionConfiguration` does not have.
    ///
    /// - Parameters:
    ///   - configuration: time-outs, header fields, cookies and connection limit; copied.
    ///     `URLSessionConfiguration.af.default` by default.
    ///   - delegate: has the file manager for downloads. A subclass is notified of every task, and makes those
    ///     decisions that it overrides.
    ///   - rootQueue: where the session's own asynchronous work runs; must be serial.
    ///   - startRequestsImmediately: whether the first response handler resumes a request; true by default.
    ///   - requestSetup: when the `URLRequest` of a request is made; when the request is first resumed, by default.
    ///   - requestQueue: where requests are made and adapted; `nil`, the default, does it on the thread that resumes
    ///     them.
    ///   - serializationQueue: where response serialisers run; `nil`, the default, makes a queue.
    ///   - interceptor: adapts and retries every request, before the request's own interceptor.
    ///   - serverTrustManager: evaluates servers inside the TLS handshake; `nil`, the default, asks the certificate
    ///     authorities.
    ///   - redirectHandler: decides about redirects; `nil`, the default, follows them.
    ///   - cachedResponseHandler: decides what is stored in the cache; `nil`, the default, stores what RFC 9111 allows.
    ///   - eventMonitors: are notified of every event; by default one that posts the notifications.
    ///   - transportOptions: settings of the transport: TLS, proxies, host overrides, limits.
    ///   - netrc: credentials for hosts, sent with the first message to each (Basic), or in answer to a challenge for
    ///     another scheme; `nil`, the default, has none.
    ///   - strictTransportSecurity: remembers hosts that are to be reached over TLS only; `nil`, the default, remembers
    ///     none.
    ///   - responseStore: where responses are stored; `nil`, the default, uses the configuration's `urlCache`, and
    ///     without one nothing is stored.
    ///   - maximumRedirectCount: how many redirects one attempt follows; more fail with
    ///     `URLError.httpTooManyRedirects`. `nil`, the default, is 20, as in browsers. A redirect handler may have a
    ///     number of its own.
    ///   - waitsForConnectivity: whether a request for which there is no route waits for one, instead of failing with
    ///     `URLError.notConnectedToInternet`. The request waits as long as `timeoutIntervalForResource` allows, then
    ///     fails with `URLError.timedOut`; the idle time-out does not run meanwhile. `nil`, the default, is false. The
    ///     parameter is here because `URLSessionConfiguration.waitsForConnectivity` cannot be set on Linux.
    ///   - asyncResponseStore: where responses are stored instead, at a place that is reached over a network; `nil`,
    ///     the default, leaves `responseStore`.
    ///   - coalescesRequests: whether equal GET requests that are under way at the same time are fetched once; false by
    ///     default. Requests are equal when URL, fields, credentials, cache policy and idle time-out are the same; only
    ///     the fields `traceparent`, `tracestate` and `baggage` may differ. The first request is sent. The others wait,
    ///     and are answered with its stored response (``TaskMetrics/ResponseSource/cache``), if the cache may use that
    ///     without a question to the origin (RFC 9111 §4). If it may not, which the head of the response shows, the
    ///     others are sent too, so that they take longer by that wait; after that, requests for the same URL do not
    ///     wait, until one of its responses can be shared. That wait is why requests are not coalesced by default: an
    ///     origin that holds its answer back, as for long polling, would answer equal requests one after the other. A
    ///     failure of the exchange fails the others too. When the first request is cancelled or suspended, or its
    ///     reader stops, one of the others is sent in its place. No request waits past its own time-outs. A
    ///     download, and a request with a `cachedResponseHandler`, may wait, but are never waited for. Does nothing
    ///     without a place to store responses.
    public convenience init(
        configuration: URLSessionConfiguration = URLSessionConfiguration.af.default,
        delegate: SessionDelegate = SessionDelegate(),
        rootQueue: DispatchQueue = DispatchQueue(label: "org.alamofire.session.rootQueue"),
        startRequestsImmediately: Bool = true, requestSetup: RequestSetup = .lazy, requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [AlamofireNotifications()],
        transportOptions: TransportOptions = TransportOptions(), netrc: Netrc? = nil,
        strictTransportSecurity: StrictTransportSecurity? = nil, responseStore: (any ResponseStore)? = nil,
        maximumRedirectCount: Int? = nil, waitsForConnectivity: Bool? = nil,
        asyncResponseStore: (any AsyncResponseStore)? = nil, coalescesRequests: Bool = false
    ) {
        self.init(
            transport: .engine(transportOptions, configuration), configuration: configuration, delegate: delegate,
            rootQueue: rootQueue, startRequestsImmediately: startRequestsImmediately, requestSetup: requestSetup,
            requestQueue: requestQueue, serializationQueue: serializationQueue, interceptor: interceptor,
            serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, eventMonitors: eventMonitors, netrc: netrc,
            strictTransportSecurity: strictTransportSecurity, responseStore: responseStore,
            maximumRedirectCount: maximumRedirectCount, waitsForConnectivity: waitsForConnectivity,
            asyncResponseStore: asyncResponseStore, coalescesRequests: coalescesRequests)
    }
}
