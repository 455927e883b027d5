// What can be set on a request, and who wants to hear what of it.

public import Dispatch
public import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

extension Request {
    /// What a handler of the response's head decides.
    public enum ResponseDisposition: Sendable {
        /// Go on with the content.
        case allow
        /// Cancel the request.
        case cancel
    }

    /// The credential that a challenge is answered with.
    public internal(set) var credential: URLCredential? {
        get { mutable.withLock { $0.extras?.credential } }
        set { mutable.withLock { state in state.withExtras { $0.credential = newValue } } }
    }

    /// Decides about this request's redirects, in the place of the session's handler.
    public var redirectHandler: (any RedirectHandler)? { mutable.withLock { $0.extras?.redirectHandler } }

    /// Answers challenges of the request's origin with a user and a password (Basic, Digest, NTLM).
    ///
    /// To be called before the request is resumed. Nothing is sent before the origin asks, and nothing of it goes to another origin. A
    /// refused credential ends in the 401 response. An accepted one is put into the configuration's `URLCredentialStorage`, from
    /// where it answers later challenges of the same protection space, unless `persistence` is `.none`.
    @discardableResult
    public func authenticate(
        username: String, password: String, persistence: URLCredential.Persistence = .forSession
    ) -> Self {
        authenticate(with: URLCredential(user: username, password: password, persistence: persistence))
    }

    /// Answers challenges of the request's origin with a credential.
    ///
    /// To be called before the request is resumed; the rest is as in `authenticate(username:password:persistence:)`. With an empty user
    /// and an empty password, the user's Kerberos ticket is used (Negotiate); a WebSocket's handshake cannot do that, and fails with a
    /// `badServerResponse` that says so.
    @discardableResult
    public func authenticate(with credential: URLCredential) -> Self {
        self.credential = credential
        return self
    }

    /// Answers challenges of the request's origin with a credential, by these schemes and no others.
    ///
    /// To be called before the request is resumed; the rest is as in `authenticate(username:password:persistence:)`. With `.basic`,
    /// `.ntlm` or `.negotiate` alone, no challenge is waited for. `.negotiate` takes the user's Kerberos ticket, whatever the
    /// credential says.
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
    /// A second call is a programmer's error.
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

    /// Decides what of this request's responses is stored, in the place of the session's handler.
    public var cachedResponseHandler: (any CachedResponseHandler)? {
        mutable.withLock { $0.extras?.cachedResponseHandler }
    }

    /// Lets a handler decide what of this request's responses is stored in the session's cache.
    ///
    /// It is asked when a response is whole and RFC 9111 lets it be stored; the request ends once it has answered. Downloads are
    /// not stored, so it is not asked about them. A second call is a programmer's error.
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
        let own = mutable.withLock { $0.extras?.monitors } ?? []
        return own.isEmpty ? core.monitor : CompositeEventMonitor(monitors: core.monitor.monitors + own)
    }

    /// Adds a monitor of this request's events, on its own queue, beside the session's monitors.
    ///
    /// The monitor gets events of the request, and none of the session's `urlSession(…)` events. Every call adds a monitor. Events
    /// that came before the call are not repeated.
    @discardableResult
    public func eventMonitor(_ monitor: any EventMonitor) -> Self {
        mutable.withLock { state in state.withExtras { $0.monitors.append(monitor) } }
        hasOwnMonitor.store(true, ordering: .releasing)
        return self
    }

    // MARK: Progress

    /// The progress of the request's content.
    public var uploadProgress: Progress { progress.shown(\.upload, lastAttempt?.uploadCounts) }
    /// The progress of the response's content.
    public var downloadProgress: Progress { progress.shown(\.download, lastAttempt?.downloadCounts) }

    /// The handler of upload progress that was set last, and its queue.
    public var uploadProgressHandler: (handler: ProgressHandler, queue: DispatchQueue)? {
        progress.box.withLock { $0?.value.upload.handler }
    }
    /// The handler of download progress that was set last, and its queue.
    public var downloadProgressHandler: (handler: ProgressHandler, queue: DispatchQueue)? {
        progress.box.withLock { $0?.value.download.handler }
    }

    /// Calls `closure` on `queue` when content of the request was sent.
    ///
    /// The last handler set wins.
    @discardableResult
    @preconcurrency
    public func uploadProgress(queue: DispatchQueue = .main, closure: @escaping ProgressHandler) -> Self {
        progress.read(\.upload) { $0.handler = (closure, queue) }
        return self
    }

    /// Calls `closure` on `queue` when content of the response came.
    ///
    /// The last handler set wins.
    @discardableResult
    @preconcurrency
    public func downloadProgress(queue: DispatchQueue = .main, closure: @escaping ProgressHandler) -> Self {
        progress.read(\.download) { $0.handler = (closure, queue) }
        return self
    }

    // MARK: Hearing of request and task

    /// Calls `handler` on `queue` with each `URLRequest` that is about to be sent; at once with the last one, if there is one.
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

    /// Calls `handler` on `queue` with each task that is made; at once with the last one, if there is one.
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
    func setResponseHandler(on queue: DispatchQueue, _ handler: @escaping ResponseHandler) {
        mutable.withLock { state in state.withExtras { $0.responseHandler = (queue, handler) } }
    }

    /// Shows the head to the handler, if there is one; content then waits for its decision.
    ///
    /// Async streams of responses hear of it too, and decide nothing.
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
    /// Calls `handler` on `queue` with the head of the response, before its content; content waits for the decision.
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

    /// Calls `handler` on `queue` with the head of the response, before its content.
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
    /// Calls `handler` on `queue` with the head of the response, before its content; content waits for the decision.
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

    /// Calls `handler` on `queue` with the head of the response, before its content.
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
