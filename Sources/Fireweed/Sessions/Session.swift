// Sessions: where requests come from.

public import Dispatch
public import FireweedTransport
public import Foundation
public import FoundationNetworking

/// Makes requests, and holds what they share: connections, cookies, trust, interception and observation.
///
/// A session ends when its last reference goes: every unfinished request then fails with `AFError.sessionDeinitialized`.
///
/// ```swift
/// let session = Session()
/// let user = try await session.request("https://example.com/user").validate().serializingDecodable(User.self).value
/// ```
open class Session: @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.

    /// A session with every default.
    public static let `default` = Session()

    /// Changes a `URLRequest` while it is being made.
    public typealias RequestModifier = @Sendable (inout URLRequest) throws -> Void

    /// When the `URLRequest` of a request is made.
    public enum RequestSetup: Sendable {
        /// When the request is created.
        case eager
        /// When the request is resumed for the first time.
        case lazy
    }

    let core: SessionCore

    /// Makes a session on a transport of its own.
    ///
    /// - Parameters:
    ///   - configuration: time-outs, header fields, cookies and connection limit; copied.
    ///   - delegate: the file manager for downloads.
    ///   - rootQueue: where the session's own asynchronous work runs; serial.
    ///   - startRequestsImmediately: whether the first response handler resumes a request.
    ///   - requestSetup: when the `URLRequest` of a request is made.
    ///   - requestQueue: where requests are made and adapted; `nil` makes them on the thread that resumes them.
    ///   - serializationQueue: where completion-handler forms decode; `nil` makes one.
    ///   - interceptor: adapts and retries every request, after the request's own.
    ///   - serverTrustManager: judges servers inside the TLS handshake; `nil` leaves it to the authorities.
    ///   - redirectHandler: decides about redirects; `nil` follows them.
    ///   - cachedResponseHandler: decides what is stored in the cache; `nil` stores what RFC 9111 allows.
    ///   - eventMonitors: hear of everything.
    ///   - transportOptions: what libcurl can do and a configuration cannot say.
    ///   - netrc: credentials for hosts, sent with the first message to each (Basic), or in answer to a challenge for another scheme.
    ///   - strictTransportSecurity: remembers hosts that are to be reached over TLS only; `nil` remembers none.
    ///   - responseStore: where responses are stored; `nil` takes the configuration's `urlCache`, and without one nothing is stored.
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
        strictTransportSecurity: StrictTransportSecurity? = nil, responseStore: (any ResponseStore)? = nil
    ) {
        // Read ahead of the first handshake: the system's authorities take tens of milliseconds, and the loop must not wait.
        // What cannot be read is the handshake's failure, with its reason.
        if serverTrustManager != nil { try? transportOptions.certificateAuthorities.prepare() }
        let settings = PoolSettings(
            options: transportOptions, maximumConnectionsPerHost: configuration.httpMaximumConnectionsPerHost,
            trustDecision: serverTrustManager?.decide, trustDecisionMayWait: serverTrustManager?.mayWait(forHost:))
        self.init(
            transport: CurlTransport(settings: settings), configuration: configuration, delegate: delegate,
            rootQueue: rootQueue, startRequestsImmediately: startRequestsImmediately, requestSetup: requestSetup,
            requestQueue: requestQueue, serializationQueue: serializationQueue, interceptor: interceptor,
            serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, eventMonitors: eventMonitors, netrc: netrc,
            strictTransportSecurity: strictTransportSecurity, responseStore: responseStore)
    }

    /// Makes a session on a given transport: a scripted one for tests, or another engine.
    ///
    /// The transport is the session's from then on.
    ///
    /// Unless a configuration is given, cookies and stored responses stay in the memory of this session: a scripted
    /// session must not be answered by what another one, or an earlier run of a test, has stored.
    ///
    /// The other parameters are as in `init(configuration:)`; a `serverTrustManager` is up to the transport.
    public init(
        transport: any Transport, configuration: URLSessionConfiguration = URLSessionConfiguration.af.ephemeral,
        delegate: SessionDelegate = SessionDelegate(),
        rootQueue: DispatchQueue = DispatchQueue(label: "org.alamofire.session.rootQueue"),
        startRequestsImmediately: Bool = true, requestSetup: RequestSetup = .lazy, requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [AlamofireNotifications()], netrc: Netrc? = nil,
        strictTransportSecurity: StrictTransportSecurity? = nil, responseStore: (any ResponseStore)? = nil
    ) {
        core = SessionCore(
            configuration: configuration, transport: transport,
            parts: SessionCore.Parts(
                delegate: delegate, rootQueue: rootQueue, startRequestsImmediately: startRequestsImmediately,
                requestSetup: requestSetup, requestQueue: requestQueue, serializationQueue: serializationQueue,
                interceptor: interceptor, serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
                cachedResponseHandler: cachedResponseHandler, responseStore: responseStore,
                eventMonitors: eventMonitors, netrc: netrc, strictTransportSecurity: strictTransportSecurity))
        core.attach(self)
    }

    /// Makes a session whose cache reads this clock: for tests, which let hours pass.
    package init(
        configuration: URLSessionConfiguration, cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [], responseStore: (any ResponseStore)?,
        cacheClock: @escaping @Sendable () -> Date
    ) {
        let settings = PoolSettings(
            options: TransportOptions(), maximumConnectionsPerHost: configuration.httpMaximumConnectionsPerHost,
            trustDecision: nil)
        core = SessionCore(
            configuration: configuration, transport: CurlTransport(settings: settings),
            parts: SessionCore.Parts(
                delegate: SessionDelegate(), rootQueue: DispatchQueue(label: "org.alamofire.session.rootQueue"),
                startRequestsImmediately: true, requestSetup: .lazy, cachedResponseHandler: cachedResponseHandler,
                responseStore: responseStore, cacheClock: cacheClock, eventMonitors: eventMonitors))
        core.attach(self)
    }

    deinit {
        core.invalidate(.sessionDeinitialized)
    }

    // MARK: What the session was made with

    /// A copy of the configuration that the session was made with.
    public var sessionConfiguration: URLSessionConfiguration { core.configuration.value }
    /// The file manager for downloads.
    public var delegate: SessionDelegate { core.delegate }
    /// Where the session's own asynchronous work runs.
    public var rootQueue: DispatchQueue { core.rootQueue }
    /// Where requests are made; the root queue when requests are made on the thread that resumes them.
    public var requestQueue: DispatchQueue { core.requestQueue ?? core.rootQueue }
    /// Where completion-handler forms decode.
    public var serializationQueue: DispatchQueue { core.serializationQueue }
    /// Whether the first response handler resumes a request.
    public var startRequestsImmediately: Bool { core.startsImmediately }
    /// When the `URLRequest` of a request is made.
    public var requestSetup: RequestSetup { core.requestSetup }
    /// Adapts and retries every request, after the request's own.
    public var interceptor: (any RequestInterceptor)? { core.interceptor }
    /// Judges servers inside the TLS handshake.
    public var serverTrustManager: ServerTrustManager? { core.serverTrustManager }
    /// Decides about redirects.
    public var redirectHandler: (any RedirectHandler)? { core.redirectHandler }
    /// Decides what is stored in the cache.
    public var cachedResponseHandler: (any CachedResponseHandler)? { core.cachedResponseHandler }
    /// The monitors as one, without the one that posts notifications.
    public var eventMonitor: CompositeEventMonitor { core.monitor }
    /// What moves the bytes.
    public var transport: any Transport { core.transport }

    /// An executor on the session's event loop: a task that prefers it awaits responses without a thread hop.
    ///
    /// What such a task does keeps the loop from moving bytes, so it must not wait or compute for long. `nil` when the transport has none.
    public var executor: (any TaskExecutor)? { core.transport.executor }

    // MARK: All requests

    /// Calls `action` with every request that has begun or waits for `resume()`, and is not finished; on the calling thread.
    public func withAllRequests(perform action: @Sendable (Set<Request>) -> Void) {
        action(core.registry.all)
    }

    /// Cancels every request that is not finished, then calls `completion` on `queue`: each has been cancelled, though not each ended.
    public func cancelAllRequests(
        completingOnQueue queue: DispatchQueue = .main, completion: (@Sendable () -> Void)? = nil
    ) {
        for request in core.registry.all { request.cancel() }
        if let completion { queue.async(execute: completion) }
    }

    /// Waits until every response that has come so far is in the session's store: for programs that end after a request.
    ///
    /// Responses are stored behind the end of their requests. Returns at once when the session has no cache; the configuration's
    /// `urlCache` may still be writing to its disk.
    public func flushResponseStore() async {
        guard let cache = core.cache else { return }
        await withCheckedContinuation { continuation in cache.flush { continuation.resume() } }
    }

    /// Ends every request with `AFError.sessionInvalidated(error:)`; later ones fail with it at once.
    public func invalidate(with error: (any Error)? = nil) {
        let failure = AFError.sessionInvalidated(error: error)
        core.monitor.tell { [weak self] monitor in
            guard let self else { return }
            monitor.urlSession(self, didBecomeInvalidWithError: failure)
        }
        core.invalidate(failure)
    }
}

/// The session behind the short form `AF.request(…)`.
public let AF = Session.default

/// What a session needs besides its configuration.
open class SessionDelegate: @unchecked Sendable {
    // SAFETY: `FileManager.default` may be used from any thread; another one is the caller's to keep so.
    let fileManager: FileManager

    /// Makes a delegate; downloads are moved with the file manager.
    public init(fileManager: FileManager = .default) {
        self.fileManager = fileManager
    }
}
