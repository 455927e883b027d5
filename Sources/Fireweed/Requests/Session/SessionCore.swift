// The state that a session shares with its requests, and that lives until the last request has ended.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// The working parts of a session.
///
/// Requests reference the core strongly, and the core references the public ``Session`` weakly. When the last reference
/// to the session is released, the session's `deinit` invalidates the core, and every request ends with
/// `AFError.sessionDeinitialized`.
final class SessionCore: Sendable {
    let configuration: SendableConfiguration
    /// The arguments of the session's initialiser.
    let arguments: SessionArguments
    let settings: SessionSettings
    /// The transport that sends messages, wrapped by the session's guards.
    let transport: any Transport
    /// The transport that the session was made with.
    let unguardedTransport: any Transport
    /// The transport's clock, which all waits and ages of the session use.
    let clock: any SessionClock
    let serializationQueue: DispatchQueue
    /// The cache; `nil` when the session has no store for responses.
    let cache: ResponseCache?
    /// The `URLProtocol` classes that perform exchanges instead of the transport; `nil` when the configuration names
    /// none.
    let protocolClasses: ProtocolClasses?
    let monitor: CompositeEventMonitor
    /// Coalesces equal requests; `nil` when the session does not coalesce them.
    let fetches: CoalescedFetches?
    /// The session's monitor that posts notifications, if any; kept apart because this monitor needs few events.
    let notifications: AlamofireNotifications?
    let cookies: CookieJar
    let credentials: CredentialSource
    /// The chain that every message walks, outermost link first.
    let links: LinkChain
    let registry = RequestRegistry()
    /// Whether messages must carry the identity of their request: guards and other transports may read it, the engine
    /// does not.
    let identifiesMessages: Bool
    /// Whether values are captured for each request; stored, since every request reads it.
    let capturesValues: Bool
    private let taskCount = Atomic<Int>(0)
    private let life = Mutex(Life())
    private let shownSession: Mutex<URLSession?>

    private struct Life {
        weak var session: Session?
        var invalidation: AFError?
    }

    init(configuration: URLSessionConfiguration, transport: any Transport, arguments: SessionArguments) {
        self.configuration = SendableConfiguration(configuration)
        self.arguments = arguments
        let options = arguments.options
        settings = SessionSettings(
            configuration, options: transport.options, maximumRedirectCount: options.maximumRedirectCount)
        unguardedTransport = transport
        // The first guard is the outermost.
        let transport = options.guards.reversed().reduce(transport) { $1.guarding($0) }
        self.transport = transport
        identifiesMessages = !(transport is EngineTransport)
        capturesValues = !options.valueCaptures.isEmpty
        let clock = transport.clock
        self.clock = clock
        shownSession = Mutex(arguments.shownSession)
        serializationQueue =
            arguments.serializationQueue ?? DispatchQueue(label: "\(arguments.rootQueue.label).serialization")
        let trust = SessionTrust(arguments.serverTrustManager, arguments.delegate)
        let backing = ResponseCache.backing(options.asyncResponseStore, options.responseStore, configuration)
        cache = backing.map { [fields = settings.fields] backing in
            ResponseCache(
                backing, sharedFields: fields, scope: CacheScope(transport.options, trust), clock: clock,
                now: CacheClock.now ?? { clock.now })
        }
        fetches = options.coalescesRequests ? CoalescedFetches() : nil
        protocolClasses = ProtocolClasses(configuration)
        notifications = arguments.eventMonitors.lazy.compactMap { $0 as? AlamofireNotifications }.first
        let delegateEvents = DelegateEvents(arguments.delegate, queue: arguments.rootQueue)
        monitor = CompositeEventMonitor(
            monitors: arguments.eventMonitors.filter { !($0 is AlamofireNotifications) }, delegate: delegateEvents)
        cookies = CookieJar(storage: configuration.httpCookieStorage, clock: clock)
        credentials = CredentialSource(storage: configuration.urlCredentialStorage, netrc: options.netrc)
        let links: [(any Link)?] = [
            RedirectLink(settings: settings, queue: arguments.rootQueue),
            options.strictTransportSecurity.map {
                StrictTransportLink(store: $0, clock: clock, checksIdentity: trust.checksIdentity(ofHost:))
            },
            AuthenticationLink(credentials: credentials),
            settings.cookieStorage == nil
                ? nil : CookieLink(jar: cookies, settings: settings, followsFields: options.cookiesFollowFields),
            protocolClasses == nil ? nil : ProtocolLink(),
            cache.flatMap { [fetches] cache in fetches.map { CoalescingLink(fetches: $0, cache: cache) } },
            CacheLink(cache: cache),
            options.waitsForConnectivity ? ConnectivityLink(transport.options, clock: clock) : nil,
        ]
        self.links = LinkChain(links.compactMap(\.self))
        install(trust)
    }

    /// Gives the transport the session's rules about servers, if the session has any.
    ///
    /// With a trust manager and a transport that takes no rules, every request fails: a manager that is never asked
    /// would be a security hole.
    private func install(_ trust: SessionTrust) {
        guard let rules = trust.rules else { return }
        guard transport.abilities.contains(.serverTrust) else {
            guard arguments.serverTrustManager != nil else { return }
            return life.withLock { $0.invalidation = .sessionInvalidated(error: MissingAbility.serverTrust) }
        }
        trust.attach(self)
        // Reads the authorities before the first handshake: those of the system take tens of milliseconds, and the loop
        // must not wait. A failure to read them is reported by the handshake.
        if trust.usesAuthorities { try? transport.options.certificateAuthorities.prepare() }
        transport.evaluateServers(with: rules)
    }

    /// Foundation's session that monitors get; made at the first use.
    var urlSession: URLSession {
        shownSession.withLock { shown in
            let session =
                shown
                ?? FacadeURLSession(
                    configuration: configuration.value, delegate: arguments.delegate, rootQueue: arguments.rootQueue,
                    tasks: { [weak self] in self?.runningTasks ?? [] },
                    didInvalidate: { [weak self] in
                        self?.invalidate(.sessionInvalidated(error: nil), notifiesDelegate: false)
                    })
            shown = session
            return session
        }
    }

    /// The current task of each request that is not finished.
    private var runningTasks: [URLSessionTask] {
        registry.all.compactMap(\.task).filter { $0.state != .completed }
    }

    /// The session; `nil` once it is released.
    var session: Session? {
        life.withLock { $0.session }
    }

    /// The error that new requests fail with; `nil` while the session is valid.
    var invalidation: AFError? {
        life.withLock { $0.invalidation }
    }

    func attach(_ session: Session) {
        life.withLock { $0.session = session }
    }

    /// Whether a monitor of the session wants an event.
    @inline(__always)
    func announces(_ kind: MonitoredEvents) -> Bool { monitor.events.contains(kind) }

    /// Ends every request with `error` and lets none begin; monitors are notified with `cause`.
    ///
    /// Only the first call has an effect.
    func invalidate(_ error: AFError, cause: (any Error)? = nil, notifiesDelegate: Bool = true) {
        let isFirst = life.withLock { life in
            guard life.invalidation == nil else { return false }
            life.invalidation = error
            return true
        }
        guard isFirst else { return }
        if announces(.invalidation) {
            let session = urlSession
            monitor.notify(.invalidation, includingDelegate: notifiesDelegate) {
                $0.urlSession(session, didBecomeInvalidWithError: cause)
            }
        }
        for request in registry.all { request.abort(error) }
        transport.shutDown()
    }

    /// Asks the session's retrier, then the request's own.
    func retryResult(for request: Request, dueTo error: AFError, completion: @escaping @Sendable (RetryResult) -> Void)
    {
        guard invalidation == nil, !error.isSessionInvalidatedError, let session else { return completion(.doNotRetry) }
        let retriers = [arguments.interceptor, request.interceptor].compactMap { $0 as (any RequestRetrier)? }
        Interceptor(retriers: retriers).retry(request, for: session, dueTo: error, completion: completion)
    }

    func nextTaskIdentifier() -> Int {
        taskCount.wrappingAdd(1, ordering: .relaxed).newValue
    }
}

/// A configuration that never changes: the session's own copy.
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

extension Transport where Self == EngineTransport {
    /// The transport of a session that was made without one.
    static func engine(_ options: TransportOptions, _ configuration: URLSessionConfiguration) -> EngineTransport {
        var options = options
        options.configuredProxies = ConfiguredProxies(configuration.connectionProxyDictionary)
        return EngineTransport(
            settings: PoolSettings(
                options: options, maximumConnectionsPerHost: configuration.httpMaximumConnectionsPerHost))
    }
}
