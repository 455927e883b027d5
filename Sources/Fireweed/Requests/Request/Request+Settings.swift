// Settings and handlers of a request.

public import Dispatch
public import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

extension Request {
    /// The decision of a handler that gets the response's head.
    public enum ResponseDisposition: Sendable {
        /// Continue with the content.
        case allow
        /// Cancel the request.
        case cancel
    }

    /// The credential that answers challenges.
    public internal(set) var credential: URLCredential? {
        get { mutable.withLock { $0.extras?.credential } }
        set { mutable.withLock { state in state.withExtras { $0.credential = newValue } } }
    }

    /// Decides about this request's redirects, instead of the session's handler.
    public var redirectHandler: (any RedirectHandler)? { mutable.withLock { $0.extras?.redirectHandler } }

    /// Answers challenges of the request's origin with a user and a password (Basic, Digest, NTLM).
    ///
    /// Call it before the request is resumed. The credential is sent only after a challenge of the origin, and never to
    /// another origin. A refused credential ends in the 401 response.
    ///
    /// - Important: An accepted credential is stored in the configuration's `URLCredentialStorage`. From there it
    ///   answers later challenges of the same protection space, for requests of all users. The storage of
    ///   `URLSessionConfiguration.af.default` is `URLCredentialStorage.shared`, which all sessions of the process
    ///   share. With `persistence: .none`, or with a configuration without a storage, nothing is stored.
    ///
    /// - Parameters:
    ///   - username: the user.
    ///   - password: the password.
    ///   - persistence: how long an accepted credential is stored; `.forSession`, the default, is until the process
    ///     ends.
    /// - Returns: the request.
    @discardableResult
    public func authenticate(
        username: String, password: String, persistence: URLCredential.Persistence = .forSession
    ) -> Self {
        authenticate(with: URLCredential(user: username, password: password, persistence: persistence))
    }

    /// Answers challenges of the request's origin with a credential.
    ///
    /// Call it before the request is resumed; otherwise like `authenticate(username:password:persistence:)`. An empty
    /// user and an empty password select the user's Kerberos ticket (Negotiate). A WebSocket's handshake cannot use the
    /// ticket, and fails with a `badServerResponse` that says so.
    @discardableResult
    public func authenticate(with credential: URLCredential) -> Self {
        self.credential = credential
        return self
    }

    /// Answers challenges of the request's origin with a credential, and only with the given schemes.
    ///
    /// Call it before the request is resumed; otherwise like `authenticate(username:password:persistence:)`. If
    /// `.basic`, `.ntlm` or `.negotiate` is the only scheme, the first message already authenticates, before any
    /// challenge. `.negotiate` always uses the user's Kerberos ticket, and ignores the credential.
    ///
    /// - Parameters:
    ///   - credential: user and password.
    ///   - schemes: the schemes that may be used.
    /// - Returns: the request.
    @discardableResult
    public func authenticate(with credential: URLCredential, schemes: AuthenticationSchemes) -> Self {
        mutable.withLock { state in
            state.withExtras { extras in
                extras.credential = credential
                extras.schemes = schemes
            }
        }
        return self
    }

    /// Lets a handler decide about this request's redirects.
    ///
    /// A second call is a programming error, and stops the program.
    @discardableResult
    public func redirect(using handler: any RedirectHandler) -> Self {
        mutable.withLock { state in
            state.withExtras { extras in
                precondition(extras.redirectHandler == nil, "The redirect handler of a request can be set once.")
                extras.redirectHandler = handler
            }
        }
        return self
    }

    /// Decides which responses of this request are stored, instead of the session's handler.
    public var cachedResponseHandler: (any CachedResponseHandler)? {
        mutable.withLock { $0.extras?.cachedResponseHandler }
    }

    /// Lets a handler decide which responses of this request are stored in the session's cache.
    ///
    /// The handler is called when a response is complete, also for responses that the cache would not store (see
    /// ``CachedResponseHandler``); the request ends after the decision. The handler is not called for downloads, which
    /// are never stored. A second call of this method is a programming error, and stops the program.
    @discardableResult
    public func cacheResponse(using handler: any CachedResponseHandler) -> Self {
        mutable.withLock { state in
            state.withExtras { extras in
                precondition(
                    extras.cachedResponseHandler == nil, "The cached response handler of a request can be set once.")
                extras.cachedResponseHandler = handler
            }
        }
        return self
    }

    /// Every monitor that is notified of this request's events: the session's, then the request's own.
    public var eventMonitor: (any EventMonitor)? {
        let own = mutable.withLock { $0.extras?.monitors.map(\.monitor) } ?? []
        return own.isEmpty ? core.monitor : CompositeEventMonitor(monitors: core.monitor.monitors + own)
    }

    /// Adds a monitor of this request's events, on its own queue, beside the session's monitors.
    ///
    /// The monitor gets events of the request, and none of the session's `urlSession(…)` events. Every call adds a
    /// monitor. Earlier events are not repeated.
    @discardableResult
    public func eventMonitor(_ monitor: any EventMonitor) -> Self {
        mutable.withLock { state in state.withExtras { $0.monitors.append(MonitorMailbox(monitor)) } }
        hasOwnMonitor.store(true, ordering: .releasing)
        return self
    }

    // MARK: Progress

    /// The progress of the request's content; its total is -1 once content of unknown length is sent.
    public var uploadProgress: Progress { progress.shown(\.upload, lastAttempt?.uploadCounts) }
    /// The progress of the response's content; its total is -1 once content of unknown length comes.
    public var downloadProgress: Progress { progress.shown(\.download, lastAttempt?.downloadCounts) }

    /// The handler of upload progress that was set last, and its queue.
    public var uploadProgressHandler: (handler: ProgressHandler, queue: DispatchQueue)? {
        progress.box.withLock { $0?.value.upload.handler }
    }
    /// The handler of download progress that was set last, and its queue.
    public var downloadProgressHandler: (handler: ProgressHandler, queue: DispatchQueue)? {
        progress.box.withLock { $0?.value.download.handler }
    }

    /// Calls `closure` as the content of the request is sent.
    ///
    /// A second call replaces the closure. A retry starts the progress again.
    ///
    /// - Parameters:
    ///   - queue: where `closure` is called; the main queue by default.
    ///   - closure: takes the progress, in bytes; its total is unknown (negative) where the length of the content is
    ///     not known.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func uploadProgress(queue: DispatchQueue = .main, closure: @escaping ProgressHandler) -> Self {
        progress.read(\.upload) { $0.handler = (closure, queue) }
        return self
    }

    /// Calls `closure` as the content of the response comes.
    ///
    /// A second call replaces the closure. A retry starts the progress again.
    ///
    /// - Parameters:
    ///   - queue: where `closure` is called; the main queue by default.
    ///   - closure: takes the progress, in bytes; its total is unknown (negative) where the length of the content is
    ///     not known.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func downloadProgress(queue: DispatchQueue = .main, closure: @escaping ProgressHandler) -> Self {
        progress.read(\.download) { $0.handler = (closure, queue) }
        return self
    }

    // MARK: Handlers of requests and tasks

    /// Calls `handler` with each `URLRequest` that is about to be sent: one for each attempt, after the adapters.
    ///
    /// When an attempt has begun already, the handler is also called with its `URLRequest`. A second call of this
    /// method replaces the handler.
    ///
    /// - Parameters:
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - handler: takes the `URLRequest`.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func onURLRequestCreation(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (URLRequest) -> Void
    ) -> Self {
        let made = mutable.withLock { state -> RequestRecord? in
            state.withExtras { $0.urlRequestHandler = (queue, handler) }
            return state.attempts.last?.record
        }
        if let made { queue.async { handler(made.urlRequest) } }
        return self
    }

    /// Calls `handler` with each task that is made: one for each attempt.
    ///
    /// When there is a task already, the handler is also called with the last task. A second call of this method
    /// replaces the handler.
    ///
    /// - Parameters:
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - handler: takes the task.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func onURLSessionTaskCreation(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (URLSessionTask) -> Void
    ) -> Self {
        let made = mutable.withLock { state -> Attempt? in
            state.withExtras { $0.taskHandler = (queue, handler) }
            return state.attempts.last
        }
        if let made { queue.async { handler(made.sessionTask) } }
        return self
    }
}

extension Request {
    /// Sets the handler of the response's head.
    func setResponseHandler(on queue: DispatchQueue, _ handler: @escaping HTTPResponseHandler) {
        mutable.withLock { state in state.withExtras { $0.responseHandler = (queue, handler) } }
    }

    /// Passes the head to the handler, if there is one; content then waits for the handler's decision.
    ///
    /// Async streams of responses get the head too, and decide nothing.
    func offerResponse(of attempt: Attempt) -> HeadDisposition {
        let (handler, listeners) = mutable.withLock { ($0.extras?.responseHandler, $0.extras?.listeners.responses) }
        if let listeners, !listeners.isEmpty, let response = attempt.httpURLResponse {
            for listener in listeners { listener.push(response) }
        }
        guard let (queue, handler) = handler else { return .proceed }
        queue.async {
            guard let response = attempt.httpURLResponse else { return attempt.allow() }
            handler(
                response,
                firstOnly { disposition in
                    switch disposition {
                    case .allow: attempt.allow()
                    case .cancel: self.cancel()
                    }
                })
        }
        return .wait
    }
}

extension DataRequest {
    /// Calls `handler` with the head of the response, before its content; content waits for the decision.
    ///
    /// A second call of this method replaces the handler.
    ///
    /// - Parameters:
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - handler: takes the head, and a closure for the decision: `.allow` lets the content come, `.cancel` cancels
    ///     the request. Call the closure once, on any thread.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func onHTTPResponse(
        on queue: DispatchQueue = .main,
        perform handler:
            @escaping @Sendable (
                _ response: HTTPURLResponse, _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
            ) -> Void
    ) -> Self {
        setResponseHandler(on: queue, handler)
        return self
    }

    /// Calls `handler` with the head of the response; content waits until the handler has returned.
    ///
    /// A second call of this method replaces the handler.
    ///
    /// - Parameters:
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - handler: takes the head of the final response of each attempt.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func onHTTPResponse(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (HTTPURLResponse) -> Void
    ) -> Self {
        setResponseHandler(on: queue) { response, decide in
            handler(response)
            decide(.allow)
        }
        return self
    }
}

extension DataStreamRequest {
    /// Calls `handler` with the head of the response, before its content; content waits for the decision.
    ///
    /// A second call of this method replaces the handler.
    ///
    /// - Parameters:
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - handler: takes the head, and a closure for the decision: `.allow` lets the content come, `.cancel` cancels
    ///     the request. Call the closure once, on any thread.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func onHTTPResponse(
        on queue: DispatchQueue = .main,
        perform handler:
            @escaping @Sendable (
                _ response: HTTPURLResponse, _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
            ) -> Void
    ) -> Self {
        setResponseHandler(on: queue, handler)
        return self
    }

    /// Calls `handler` with the head of the response; content waits until the handler has returned.
    ///
    /// A second call of this method replaces the handler.
    ///
    /// - Parameters:
    ///   - queue: where `handler` is called; the main queue by default.
    ///   - handler: takes the head of the final response of each attempt.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func onHTTPResponse(
        on queue: DispatchQueue = .main, perform handler: @escaping @Sendable (HTTPURLResponse) -> Void
    ) -> Self {
        setResponseHandler(on: queue) { response, decide in
            handler(response)
            decide(.allow)
        }
        return self
    }
}
