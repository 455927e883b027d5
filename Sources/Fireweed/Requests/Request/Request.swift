// The common part of all requests: identity, state, messages and responses.

public import Dispatch
public import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// A request, with its attempts and its response handlers.
///
/// A `Session` makes requests. Every method may be called from any thread, at any time. Handlers run on the queues that
/// they were added with, by default `.main`. A session keeps a request alive from its first `resume()` until the
/// request ends.
///
/// - SeeAlso: ``DataRequest``, ``DataStreamRequest``, ``DownloadRequest``, ``UploadRequest``
public class Request: @unchecked Sendable {
    // SAFETY: not final, so the compiler cannot check it: every stored property here and in the subclasses is a `let`
    // of `Sendable` type, and mutable state is behind a `Mutex`.

    /// The states of a request.
    ///
    /// A cancelled request stays cancelled. A handler that is added to a finished request makes the request resumed
    /// until that handler has been called.
    public enum State: Sendable {
        /// The request was made, and was not resumed yet.
        case initialized
        /// The request is being sent, or its response is being received.
        case resumed
        /// The request is suspended; `resume()` continues it.
        case suspended
        /// The request was cancelled; its handlers get `AFError.explicitlyCancelled`, unless an error came before.
        case cancelled
        /// Every handler has been called.
        case finished
    }

    /// Called with the progress of an upload or a download.
    public typealias ProgressHandler = @Sendable (_ progress: Progress) -> Void

    /// The result of a validation: success, or the error that the request ends with.
    public typealias ValidationResult = Result<Void, any (Error & Sendable)>

    /// The parts that differ between the kinds of requests.
    let parts: RequestParts
    let core: SessionCore
    let mutable: Mutex<MutableState>
    let progress = ProgressTracker()
    /// True once the request has its own monitor; read at every event, without the lock.
    let hasOwnMonitor = Atomic<Bool>(false)
    /// The number of messages that were sent; counted only when messages carry an owner.
    let messageCount = Atomic<Int>(0)
    /// The request's index in the registry, -1 outside it; used under the registry's lock.
    let registeredIndex = Atomic<Int>(-1)

    /// The queue on which the session does this request's own work.
    public var underlyingQueue: DispatchQueue { core.arguments.rootQueue }
    /// The queue on which the serialisers of completion handlers run.
    public var serializationQueue: DispatchQueue { core.serializationQueue }
    /// Whether the first handler resumes the request; `nil` leaves it to the session's `startRequestsImmediately`.
    public let shouldAutomaticallyResume: Bool?

    init(
        _ parts: RequestParts, core: SessionCore, interceptor: (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?
    ) {
        self.parts = parts
        self.core = core
        self.shouldAutomaticallyResume = shouldAutomaticallyResume
        mutable = Mutex(MutableState(interceptor: interceptor))
    }

    deinit {
        core.registry.forget(ObjectIdentifier(self))
    }

    /// Ends the request with `AFError.explicitlyCancelled`.
    ///
    /// An earlier error of the request stays, unless a retrier is being asked about that error. Handlers are still
    /// called, once; there is no retry.
    @discardableResult
    public func cancel() -> Self {
        endAsCancelled()
        return self
    }
}

extension Request {
    /// Ends the request with `error`, like `cancel()`; does not wait for an adapter or a retrier that was asked.
    ///
    /// Only the first cancel has an effect: `note` runs only then, under the state's lock, while the outcome is open.
    func endAsCancelled(
        by error: AFError = .explicitlyCancelled, noting note: (inout MutableState) -> Void = { _ in }
    ) {
        var question: (@Sendable () -> Void)?
        handle(.cancel) { state in
            let isFirst = state.lifecycle.visible != .cancelled
            question = state.takeRetrierQuestion()
            if isFirst, state.endOutcome(with: error, hadQuestion: question != nil) { note(&state) }
        }
        question?()
    }
}

// MARK: - Identity

extension Request: Hashable, CustomStringConvertible {
    /// The identity of the request, which never changes.
    public var id: UUID {
        mutable.withLock { $0.identifier() }
    }

    /// Two requests are equal when they are the same request.
    public static func == (left: Request, right: Request) -> Bool {
        left === right
    }

    /// Hashes the identity of the request.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }

    /// `GET https://example.com/`, and the status once there is a response; before the `URLRequest` is made,
    /// Alamofire's text for that state.
    ///
    /// After a redirect, the description has the method and the URL of the message that was sent last.
    public var description: String {
        guard let record = mutable.withLock({ $0.records.last }) else {
            return "No request created yet."
        }
        let sent = lastAttempt?.currentRequest
        let text = "\(sent?.httpMethod ?? record.method) \((sent?.url ?? record.url).absoluteString)"
        return lastAttempt?.statusCode.map { "\(text) (\($0))" } ?? text
    }
}

// MARK: - State

extension Request {
    /// The state at this moment.
    public var state: State { mutable.withLock { $0.lifecycle.visible } }
    /// True until the request is resumed, suspended or cancelled.
    public var isInitialized: Bool { state == .initialized }
    /// True from `resume()` until the request ends or is suspended.
    public var isResumed: Bool { state == .resumed }
    /// True while the request is suspended.
    public var isSuspended: Bool { state == .suspended }
    /// True once the request was cancelled.
    public var isCancelled: Bool { state == .cancelled }
    /// True once every handler has been called, unless the request was cancelled.
    public var isFinished: Bool { state == .finished }

    /// The first error of the request so far; a retry clears it.
    public internal(set) var error: AFError? {
        get { mutable.withLock { $0.error } }
        set { mutable.withLock { $0.setError(newValue) } }
    }

    /// How often the request has been retried.
    public var retryCount: Int { mutable.withLock { $0.retryCount } }

    /// Sends the request, or continues it after `suspend()`.
    ///
    /// Does nothing once the request is cancelled or finished.
    @discardableResult
    public func resume() -> Self {
        if core.capturesValues { captureValues(at: .resume) }
        handle(.resume)
        return self
    }

    /// Suspends the request: no bytes move in either direction until `resume()`.
    ///
    /// Does nothing once the request is cancelled or finished.
    @discardableResult
    public func suspend() -> Self {
        handle(.suspend)
        return self
    }
}

// MARK: - Messages and responses

extension Request {
    /// Every `URLRequest` that was made for this request: the initial and the adapted request of each attempt.
    public var requests: [URLRequest] { mutable.withLock { $0.records }.map(\.urlRequest) }
    /// The first of `requests`.
    public var firstRequest: URLRequest? { mutable.withLock { $0.records.first }?.urlRequest }
    /// The last of `requests`.
    public var lastRequest: URLRequest? { mutable.withLock { $0.records.last }?.urlRequest }
    /// The last of `requests`.
    public var request: URLRequest? { lastRequest }
    /// The last message of each attempt, as it was sent.
    public var performedRequests: [URLRequest] { attempts.compactMap(\.currentRequest) }

    /// The response of the last attempt.
    public var response: HTTPURLResponse? { lastAttempt?.httpURLResponse }
    /// The head of the last attempt's response; `nil` before it comes.
    ///
    /// The fields keep their order, their case and their duplicates, which `response` joins.
    public var responseHead: ResponseHead? { lastAttempt?.head }
    /// The fields after the content of the last attempt's response (trailers, RFC 9110 §6.5).
    ///
    /// `nil` before the response is complete, and when the response has no trailers.
    public var responseTrailers: FieldBlock? { lastAttempt?.trailers }

    /// A task for each attempt.
    public var tasks: [URLSessionTask] { attempts.map(\.sessionTask) }
    /// The first of `tasks`.
    public var firstTask: URLSessionTask? { attempts.first?.sessionTask }
    /// The last of `tasks`.
    public var lastTask: URLSessionTask? { lastAttempt?.sessionTask }
    /// The last of `tasks`.
    public var task: URLSessionTask? { lastTask }

    /// Returns the number of the attempt that a task represents: 0 for the first, 1 after one retry or reconnection.
    ///
    /// Monitors are notified later, on their queues: by then ``retryCount`` may belong to the next attempt already.
    ///
    /// - Parameter task: a task of this request, as monitors get it.
    /// - Returns: the number; `nil` for a task of another request, or of a `URLSession`.
    public func attemptNumber(of task: URLSessionTask) -> Int? {
        guard let attempt = (task as? any AttemptTask)?.attempt, attempt.requestIdentity == ObjectIdentifier(self)
        else { return nil }
        return attempt.demands.attemptNumber
    }

    /// The metrics of each attempt that has ended.
    public var allMetrics: [TaskMetrics] { attempts.compactMap(\.metrics) }
    /// The first of `allMetrics`.
    public var firstMetrics: TaskMetrics? { allMetrics.first }
    /// The last of `allMetrics`.
    public var lastMetrics: TaskMetrics? { allMetrics.last }
    /// The last of `allMetrics`.
    public var metrics: TaskMetrics? { lastMetrics }

    var attempts: TinyArray<Attempt> { mutable.withLock { $0.attempts } }
    var firstAttempt: Attempt? { mutable.withLock { $0.attempts.first } }
    var lastAttempt: Attempt? { mutable.withLock { $0.attempts.last } }
}
