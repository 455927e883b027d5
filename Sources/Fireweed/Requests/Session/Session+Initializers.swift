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
    ///   - delegate: provides the file manager for downloads. A subclass is notified of every task, and makes the
    ///     decisions that it overrides.
    ///   - rootQueue: where the session's own asynchronous work runs; must be serial.
    ///   - startRequestsImmediately: whether the first response handler resumes a request; true by default.
    ///   - requestSetup: when the `URLRequest` of a request is made; when the request is first resumed, by default.
    ///   - requestQueue: where requests are made and adapted; `nil`, the default, does it on the thread that resumes
    ///     them.
    ///   - serializationQueue: where response serialisers run; `nil`, the default, makes a queue.
    ///   - interceptor: adapts and retries every request, before the request's own interceptor.
    ///   - serverTrustManager: evaluates servers inside the TLS handshake; `nil`, the default, checks servers against
    ///     the certificate authorities of the system.
    ///   - redirectHandler: decides about redirects; `nil`, the default, follows them.
    ///   - cachedResponseHandler: decides what is stored in the cache; `nil`, the default, stores what RFC 9111 allows.
    ///   - eventMonitors: monitors of the session's events; by default one monitor that posts notifications.
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
    ///   - delegate: provides the file manager for downloads. A subclass is notified of every task, and makes the
    ///     decisions that it overrides.
    ///   - rootQueue: where the session's own asynchronous work runs; must be serial.
    ///   - startRequestsImmediately: whether the first response handler resumes a request; true by default.
    ///   - requestSetup: when the `URLRequest` of a request is made; when the request is first resumed, by default.
    ///   - requestQueue: where requests are made and adapted; `nil`, the default, does it on the thread that resumes
    ///     them.
    ///   - serializationQueue: where response serialisers run; `nil`, the default, makes a queue.
    ///   - interceptor: adapts and retries every request, before the request's own interceptor.
    ///   - serverTrustManager: evaluates servers inside the TLS handshake; `nil`, the default, checks servers against
    ///     the certificate authorities of `transportOptions`.
    ///   - redirectHandler: decides about redirects; `nil`, the default, follows them.
    ///   - cachedResponseHandler: decides what is stored in the cache; `nil`, the default, stores what RFC 9111 allows.
    ///   - eventMonitors: monitors of the session's events; by default one monitor that posts notifications.
    ///   - transportOptions: settings of the transport: TLS, proxies, host overrides, limits.
    ///   - options: stores, credentials from a file, limits.
    public convenience init(
        configuration: URLSessionConfiguration = URLSessionConfiguration.af.default,
        delegate: SessionDelegate = SessionDelegate(),
        rootQueue: DispatchQueue = DispatchQueue(label: "org.alamofire.session.rootQueue"),
        startRequestsImmediately: Bool = true, requestSetup: RequestSetup = .lazy, requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [AlamofireNotifications()],
        transportOptions: TransportOptions = TransportOptions(), options: SessionOptions = SessionOptions()
    ) {
        self.init(
            transport: .engine(transportOptions, configuration), configuration: configuration, delegate: delegate,
            rootQueue: rootQueue, startRequestsImmediately: startRequestsImmediately, requestSetup: requestSetup,
            requestQueue: requestQueue, serializationQueue: serializationQueue, interceptor: interceptor,
            serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, eventMonitors: eventMonitors, options: options)
    }
}
