// A session's configuration, and methods that concern all of its requests.

public import Dispatch
import FireweedTransport
import Foundation
public import FoundationNetworking

extension Session {
    // MARK: Arguments of the initialisers

    /// Foundation's session with the same configuration, which monitors and delegates get.
    ///
    /// It is made at its first use, and never sends a byte: requests go through `transport`.
    public var session: URLSession { core.urlSession }
    /// A copy of the configuration that the session was made with.
    public var sessionConfiguration: URLSessionConfiguration { core.configuration.value }
    /// The delegate, which has the file manager for downloads.
    public var delegate: SessionDelegate { core.arguments.delegate }
    /// The queue of the session's own asynchronous work.
    public var rootQueue: DispatchQueue { core.arguments.rootQueue }
    /// The queue on which requests are made; the root queue if the session was given no queue for this.
    ///
    /// Without such a queue, requests are made on the thread that resumes them.
    public var requestQueue: DispatchQueue { core.arguments.requestQueue ?? core.arguments.rootQueue }
    /// The queue on which response serialisers of completion handlers run.
    public var serializationQueue: DispatchQueue { core.serializationQueue }
    /// Whether the first response handler resumes a request.
    public var startRequestsImmediately: Bool { core.arguments.startRequestsImmediately }
    /// When the `URLRequest` of a request is made.
    public var requestSetup: RequestSetup { core.arguments.requestSetup }
    /// Adapts and retries every request.
    public var interceptor: (any RequestInterceptor)? { core.arguments.interceptor }
    /// Evaluates servers inside the TLS handshake.
    public var serverTrustManager: ServerTrustManager? { core.arguments.serverTrustManager }
    /// Decides about redirects.
    public var redirectHandler: (any RedirectHandler)? { core.arguments.redirectHandler }
    /// Decides what is stored in the cache.
    public var cachedResponseHandler: (any CachedResponseHandler)? { core.arguments.cachedResponseHandler }
    /// A monitor that combines the session's monitors, except the monitor that posts notifications.
    public var eventMonitor: CompositeEventMonitor { core.monitor }
    /// The default monitors of a session.
    @available(*, deprecated, message: "The default of `eventMonitors` in the initialisers says the same.")
    public var defaultEventMonitors: [any EventMonitor] { [AlamofireNotifications()] }
    /// The transport that the session was made with, without the session's guards.
    public var transport: any Transport { core.unguardedTransport }
    /// The transport's clock: retries, time-outs, deadlines, cookies, the cache and refresh windows use it.
    public var clock: any SessionClock { core.clock }

    /// An executor on the session's event loop; `nil` when the transport has none.
    ///
    /// A task that prefers the executor awaits responses without a thread hop. While such a task runs, the loop moves
    /// no bytes, so the task must not wait or compute for long.
    public var executor: (any TaskExecutor)? { core.transport.executor }

    // MARK: All requests

    /// Calls `action` on this thread with every request that has begun or waits for `resume()`, and has not finished.
    @preconcurrency
    public func withAllRequests(perform action: @Sendable (Set<Request>) -> Void) {
        action(core.registry.all)
    }

    /// Cancels every request that is not finished.
    ///
    /// - Parameters:
    ///   - queue: where `completion` is called; the main queue by default.
    ///   - completion: called after `cancel()` was called on every request; some of the requests may not have finished
    ///     then.
    @preconcurrency
    public func cancelAllRequests(
        completingOnQueue queue: DispatchQueue = .main, completion: (@Sendable () -> Void)? = nil
    ) {
        for request in core.registry.all { request.cancel() }
        if let completion { queue.async(execute: completion) }
    }

    /// Waits until every response that has come so far is in the session's store, and on its disk if it has one; for
    /// programs that end after a request, or before what is stored is removed.
    ///
    /// Responses are stored after their requests have ended. Returns immediately when the session has no cache.
    public func flushResponseStore() async {
        guard let cache = core.cache else { return }
        await withCheckedContinuation { continuation in cache.flush { continuation.resume() } }
    }

    /// Ends every request with `AFError.sessionInvalidated(error:)`; later requests fail immediately with the same
    /// error.
    public func invalidate(with error: (any Error)? = nil) {
        let failure = AFError.sessionInvalidated(error: error)
        core.invalidate(failure, cause: failure)
    }

    // MARK: -

    /// Registers a new request, and makes its `URLRequest` immediately when `requestSetup` is `.eager`.
    func begin<Made: Request>(_ request: Made) -> Made {
        // A weak reference slows down every later retain, so only requests that wait for `resume()` are registered
        // here.
        if core.capturesValues { request.captureValues(at: .creation) }
        let beginsByItself = request.shouldAutomaticallyResume ?? core.arguments.startRequestsImmediately
        if !beginsByItself { core.registry.add(request) }
        if core.arguments.requestSetup == .eager { request.handle(.makeEagerly) }
        return request
    }
}
