// One session of a round, which can be dropped while requests are in flight.

import Fireweed
import Foundation
import Synchronization

/// Holds the only lasting reference to a session; after `drop()` or `invalidate()`, the next use makes a new session
/// with the same plan.
final class SessionSlot: Sendable {
    let plan: SessionPlan
    /// The interceptor for requests that need a token, shared by all sessions of the slot.
    let authentication: AuthenticationInterceptor<PlannedAuthenticator>
    private let addresses: ServerAddresses
    private let monitor: EventRecorder
    private let remains: Remains
    private let store: SQLiteResponseStore?
    private let session = Mutex<Session?>(nil)

    init(
        _ plan: SessionPlan, addresses: ServerAddresses, monitor: EventRecorder, remains: Remains, folder: URL
    ) throws {
        self.plan = plan
        authentication = AuthenticationInterceptor(
            authenticator: PlannedAuthenticator(plan: plan.refreshing), credential: ChaosToken(number: 0),
            refreshWindow: nil)
        self.addresses = addresses
        self.monitor = monitor
        self.remains = remains
        store =
            plan.cache == .file
            ? try SQLiteResponseStore(url: folder.appendingPathComponent("\(UUID().uuidString).sqlite")) : nil
    }

    /// Calls `work` with the current session, or with a new one if there is none.
    func use<Value>(_ work: (Session) -> Value) -> Value {
        let session = session.withLock { session in
            if let session { return session }
            let made = make()
            session = made
            return made
        }
        return work(session)
    }

    /// Releases the session; the next use makes a new session.
    func drop() {
        _ = take()  // released here, outside the lock
    }

    /// Invalidates the session, which ends its requests, and releases it.
    func invalidate() {
        take()?.invalidate()
    }

    private func take() -> Session? {
        session.withLock { $0.take() }
    }

    private func make() -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = 120
        configuration.httpMaximumConnectionsPerHost = plan.connectionLimit
        configuration.urlCache =
            plan.cache == .memory ? URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: nil) : nil
        var options = TransportOptions()
        options.certificateAuthorities = .file(URL(fileURLWithPath: addresses.authority))
        options.httpVersion = plan.route == .secure ? .http1Only : .automatic
        options.eventLoops = plan.eventLoops
        options.maximumBodyByteCount = plan.contentLimit
        let session = Session(
            configuration: configuration, startRequestsImmediately: plan.startsImmediately,
            requestSetup: plan.isEager ? .eager : .lazy,
            requestQueue: plan.hasRequestQueue ? DispatchQueue(label: "chaos.requests") : nil,
            interceptor: plan.interception.map { PlannedInterceptor(plan: $0) },
            redirectHandler: plan.redirecting.map { PlannedRedirectHandler(plan: $0) },
            cachedResponseHandler: plan.storing.map { PlannedCacher(answering: $0) }, eventMonitors: [monitor],
            transportOptions: options,
            options: SessionOptions(
                strictTransportSecurity: plan.route == .strict ? strictHosts() : nil,
                responseStore: store, guards: remains.guards(of: plan)))
        remains.watch(session, "session \(plan.route)")
        // The core is watched too, since an attempt that is left behind would keep it alive. `Mirror` finds it, since
        // it is not public.
        if let core = Mirror(reflecting: session).descendant("core") {
            remains.watch(core as AnyObject, "core of session \(plan.route)")
        }
        return session
    }

    private func strictHosts() -> StrictTransportSecurity {
        let hosts = StrictTransportSecurity()
        hosts.add("localhost", lifetime: 3_600, includesSubdomains: false)
        return hosts
    }
}
