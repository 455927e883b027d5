// What a session and its requests share, and what outlives the session while requests end.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// The working parts of a session.
///
/// Requests hold it strongly, the public `Session` weakly through it: when the last reference to the session goes,
/// its `deinit` invalidates the core, and every request ends with the right error.
final class SessionCore: Sendable {
    let configuration: SendableConfiguration
    let settings: SessionSettings
    let transport: any Transport
    let rootQueue: DispatchQueue
    /// Where requests are made when the user asked for a queue of their own; `nil` makes them on the caller's thread.
    let requestQueue: DispatchQueue?
    let serializationQueue: DispatchQueue
    let startsImmediately: Bool
    let requestSetup: Session.RequestSetup
    let interceptor: (any RequestInterceptor)?
    let redirectHandler: (any RedirectHandler)?
    let cachedResponseHandler: (any CachedResponseHandler)?
    /// `nil` when there is nowhere to store anything.
    let cache: ResponseCache?
    /// Who performs exchanges instead of the transport; `nil` when the configuration names no class.
    let protocolClasses: ProtocolClasses?
    let serverTrustManager: ServerTrustManager?
    let strictTransportSecurity: StrictTransportSecurity?
    let delegate: SessionDelegate
    let monitor: CompositeEventMonitor
    let hasMonitors: Bool
    /// Posts notifications, where the session has a monitor that does; kept apart because it hears of few events.
    let notifications: AlamofireNotifications?
    let cookies: CookieJar
    let credentials: CredentialSource
    /// The chain that every message walks, outermost link first.
    let links: [any Link]
    /// The heads that concern a link of the chain.
    let headInterest: HeadInterest
    let registry = RequestRegistry()
    private let taskCount = Atomic<Int>(0)
    private let life = Mutex(Life())
    private let shownSession: Mutex<URLSession?>

    /// What a session's initialisers take besides configuration and transport.
    struct Parts {
        var delegate: SessionDelegate
        var rootQueue: DispatchQueue
        var startRequestsImmediately: Bool
        var requestSetup: Session.RequestSetup
        var requestQueue: DispatchQueue?
        var serializationQueue: DispatchQueue?
        var interceptor: (any RequestInterceptor)?
        var serverTrustManager: ServerTrustManager?
        var redirectHandler: (any RedirectHandler)?
        var cachedResponseHandler: (any CachedResponseHandler)?
        var responseStore: (any ResponseStore)?
        var eventMonitors: [any EventMonitor]
        var netrc: Netrc?
        var strictTransportSecurity: StrictTransportSecurity?
        var maximumRedirectCount: Int?
        var waitsForConnectivity: Bool?
        /// What monitors are shown; made of the configuration when somebody asks, if there is none.
        var shownSession: URLSession?
    }

    private struct Life {
        weak var session: Session?
        var invalidation: AFError?
    }

    init(configuration: URLSessionConfiguration, transport: any Transport, parts: Parts) {
        self.configuration = SendableConfiguration(configuration)
        settings = SessionSettings(
            configuration, options: transport.options, maximumRedirectCount: parts.maximumRedirectCount)
        self.transport = transport
        rootQueue = parts.rootQueue
        shownSession = Mutex(parts.shownSession)
        requestQueue = parts.requestQueue
        serializationQueue = parts.serializationQueue ?? DispatchQueue(label: "\(parts.rootQueue.label).serialization")
        startsImmediately = parts.startRequestsImmediately
        requestSetup = parts.requestSetup
        interceptor = parts.interceptor
        redirectHandler = parts.redirectHandler
        cachedResponseHandler = parts.cachedResponseHandler
        cache = ResponseCache.store(parts.responseStore, configuration).map { [fields = settings.fields] store in
            ResponseCache(store: store, sharedFields: fields, now: CacheClock.now)
        }
        protocolClasses = ProtocolClasses(configuration)
        serverTrustManager = parts.serverTrustManager
        strictTransportSecurity = parts.strictTransportSecurity
        delegate = parts.delegate
        notifications = parts.eventMonitors.lazy.compactMap { $0 as? AlamofireNotifications }.first
        let delegateEvents = DelegateEvents(parts.delegate, queue: parts.rootQueue)
        monitor = CompositeEventMonitor(
            monitors: parts.eventMonitors.filter { !($0 is AlamofireNotifications) }, delegate: delegateEvents)
        hasMonitors = !monitor.monitors.isEmpty || delegateEvents != nil
        cookies = CookieJar(storage: configuration.httpCookieStorage)
        credentials = CredentialSource(storage: configuration.urlCredentialStorage, netrc: parts.netrc)
        let waits = parts.waitsForConnectivity ?? transport.options.givenWaitsForConnectivity ?? false
        let links: [(any Link)?] = [
            RedirectLink(settings: settings, queue: rootQueue),
            strictTransportSecurity.map(StrictTransportLink.init),
            AuthenticationLink(credentials: credentials),
            settings.cookieStorage == nil ? nil : CookieLink(jar: cookies, settings: settings),
            protocolClasses == nil ? nil : ProtocolLink(),
            CacheLink(cache: cache),
            waits ? ConnectivityLink(transport.options) : nil,
        ]
        self.links = links.compactMap(\.self)
        headInterest = self.links.reduce(HeadInterest()) { $0.union($1.interest) }
        handOverTrust()
    }

    /// Gives the transport the session's rules about servers, if it has any.
    ///
    /// Where the transport takes none, every request fails: a manager that is never asked would be a hole.
    private func handOverTrust() {
        let trust = SessionTrust(serverTrustManager, delegate)
        guard let rules = trust.rules else { return }
        guard transport.abilities.contains(.serverTrust) else {
            guard serverTrustManager != nil else { return }
            return life.withLock { $0.invalidation = .sessionInvalidated(error: MissingAbility.serverTrust) }
        }
        trust.attach(self)
        // Read ahead of the first handshake: the system's authorities take tens of milliseconds, and the loop must not wait.
        // What cannot be read is the handshake's failure, with its reason.
        try? transport.options.certificateAuthorities.prepare()
        transport.judgeServers(by: rules)
    }

    /// Foundation's session that monitors are shown; made at the first use.
    var urlSession: URLSession {
        shownSession.withLock { shown in
            let session = shown ?? URLSession(configuration: configuration.value)
            shown = session
            return session
        }
    }

    /// The session, while there is one.
    var session: Session? {
        life.withLock { $0.session }
    }

    /// Why nothing can begin any more, if that is so.
    var invalidation: AFError? {
        life.withLock { $0.invalidation }
    }

    func attach(_ session: Session) {
        life.withLock { $0.session = session }
    }

    /// Ends every request with `error` and lets none begin; monitors are notified with `cause`.
    ///
    /// The first call counts.
    func invalidate(_ error: AFError, cause: (any Error)? = nil) {
        let isFirst = life.withLock { life in
            guard life.invalidation == nil else { return false }
            life.invalidation = error
            return true
        }
        guard isFirst else { return }
        if hasMonitors {
            let session = urlSession
            monitor.tell { $0.urlSession(session, didBecomeInvalidWithError: cause) }
        }
        for request in registry.all { request.abort(error) }
        transport.shutDown()
    }

    /// Asks the session's retrier, then the request's own.
    func retryResult(for request: Request, dueTo error: AFError, completion: @escaping @Sendable (RetryResult) -> Void)
    {
        guard invalidation == nil, let session else { return completion(.doNotRetry) }
        let retriers = [interceptor, request.interceptor].compactMap { $0 as (any RequestRetrier)? }
        Interceptor(retriers: retriers).retry(request, for: session, dueTo: error, completion: completion)
    }

    func nextTaskIdentifier() -> Int {
        taskCount.wrappingAdd(1, ordering: .relaxed).newValue
    }
}

/// A configuration that nobody changes any more: it is the session's own copy.
final class SendableConfiguration: @unchecked Sendable {
    // SAFETY: a copy made here, handed out only as further copies.
    private let copied: URLSessionConfiguration

    init(_ configuration: URLSessionConfiguration) {
        copied = configuration.copy() as? URLSessionConfiguration ?? configuration
    }

    /// A copy for the caller.
    var value: URLSessionConfiguration {
        copied.copy() as? URLSessionConfiguration ?? copied
    }
}

extension Transport where Self == CurlTransport {
    /// The transport of a session that was given none.
    static func curl(_ options: TransportOptions, _ configuration: URLSessionConfiguration) -> CurlTransport {
        CurlTransport(
            settings: PoolSettings(
                options: options, maximumConnectionsPerHost: configuration.httpMaximumConnectionsPerHost))
    }
}
