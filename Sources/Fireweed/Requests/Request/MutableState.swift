// The state of a request, behind its one lock.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// Everything about a request that changes.
struct MutableState: Sendable {
    var lifecycle = RequestState()
    /// How often `lifecycle.intent` has changed.
    var intentNumber: UInt64 = 0
    /// The events that monitors are being notified of.
    var announcements = Announcements()
    var error: AFError?
    var records = TinyArray<RequestRecord>()
    var attempts = TinyArray<Attempt>()
    /// The attempt before the last retry that was granted.
    var retriedAttempt: Attempt?
    /// The attempt that was cancelled before it could start; its cancel is announced before its end.
    var abandonedAttempt: Attempt?
    var retryCount = 0
    /// The retries in a row without a delay that counts, whose attempts have sent nothing.
    var idleRetryCount = 0
    var validators: [RequestValidator] = []
    /// The handlers in the order in which they were added, and how many serialisers have run.
    var handlers = TinyArray<any ResponseHandler>()
    var serialisedCount = 0
    /// Late handlers that wait for the thread that is calling handlers, and whether there is such a thread.
    var undelivered = TinyArray<any ResponseHandler>()
    var isDelivering = false
    var interceptor: (any RequestInterceptor)?
    var id: UUID?
    /// Settings that few requests have; `nil` takes no memory.
    var extras: ExtrasBox?

    /// Changes the extras, which are made at the first change.
    mutating func withExtras<Result>(_ change: (inout RequestExtras) -> Result) -> Result {
        let box = extras ?? ExtrasBox()
        extras = box
        return change(&box.value)
    }
}

/// Counts the threads that are notifying monitors of events of a request.
///
/// Another thread may end the request meanwhile. The end waits for the announcements, so that `requestDidFinish` is the
/// monitors' last event.
struct Announcements: Sendable {
    private var count = 0
    private var conclusionWaits = false

    mutating func begin() { count += 1 }

    /// True when the request has ended meanwhile, and its conclusion has to start now.
    mutating func end() -> Bool {
        count -= 1
        guard count == 0, conclusionWaits else { return false }
        conclusionWaits = false
        return true
    }

    /// True when the conclusion may start at once; otherwise `end()` returns true later.
    mutating func allowConclusion() -> Bool {
        conclusionWaits = count > 0
        return !conclusionWaits
    }
}

/// Checks a response.
struct RequestValidator: Sendable {
    /// The result; `nil` when there is nothing to check.
    typealias Check =
        @Sendable (_ request: Request, _ attempt: Attempt, _ hasContent: Bool) -> Request.ValidationResult?

    let check: Check
    /// Whether `check` accepts every response without content.
    var acceptsEmpty = false
}

/// Settings and handlers that few requests have.
struct RequestExtras: Sendable {
    var credential: URLCredential?
    /// How the credential may be used; `nil` leaves it to the credential.
    var schemes: AuthenticationSchemes?
    /// The trace that the request's attempts are spans of.
    var trace: TraceContext?
    var redirectHandler: (any RedirectHandler)?
    var cachedResponseHandler: (any CachedResponseHandler)?
    /// The request's own monitors, in the order in which they were added.
    var monitors: [any EventMonitor] = []
    var urlRequestHandler: (queue: DispatchQueue, handler: @Sendable (URLRequest) -> Void)?
    var taskHandler: (queue: DispatchQueue, handler: @Sendable (URLSessionTask) -> Void)?
    var curlHandlers: [(queue: DispatchQueue, handler: @Sendable (Request) -> Void)] = []
    var responseHandler: (queue: DispatchQueue, handler: HTTPResponseHandler)?
    /// The deadline of the request, if it has one.
    var deadline: RequestDeadline?
    /// Answers for the retrier that is being asked; `nil` while none is.
    var retrierQuestion: (@Sendable () -> Void)?
    /// Ends the delay before a retry; `nil` before the first one.
    var retryDelay: (any ScheduledCall)?
    /// Whether a cancelled download keeps its partial file for resume data.
    var wantsResumeData = false
    var listeners = RequestListeners()
    /// Called when the request has ended: async streams end with it.
    var endings: [@Sendable () -> Void] = []

    /// Are shown every head that came over the network, with the URL that answered, by the object that added them.
    var headObservers: [ObjectIdentifier: @Sendable (ResponseHead, URL) -> Void] = [:]

    var wantsHead: Bool { responseHandler != nil || !listeners.responses.isEmpty || !headObservers.isEmpty }
}

/// The async streams that listen to a request.
struct RequestListeners: Sendable {
    var responses: [StreamBuffer<HTTPURLResponse>] = []
    var urlRequests: [StreamBuffer<URLRequest>] = []
    var commands: [StreamBuffer<String>] = []
    var tasks: [StreamBuffer<URLSessionTask>] = []
}

/// Stores the extras outside the state, since most requests have none.
@dynamicMemberLookup
final class ExtrasBox: @unchecked Sendable {
    // SAFETY: part of the mutable state, and touched only under its lock.
    var value = RequestExtras()

    subscript<Member>(dynamicMember path: WritableKeyPath<RequestExtras, Member>) -> Member {
        get { value[keyPath: path] }
        set { value[keyPath: path] = newValue }
    }
}

/// Gets the head of a response before its content, and decides whether the content follows.
typealias HTTPResponseHandler =
    @Sendable (_ response: HTTPURLResponse, _ decide: @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void
