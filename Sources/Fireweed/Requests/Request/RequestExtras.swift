// Settings and handlers that few requests have.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// Settings and handlers that few requests have; an object, so that other requests have a small state.
final class RequestExtras: @unchecked Sendable {
    // SAFETY: part of the mutable state, and touched only under its lock.
    var credential: URLCredential?
    /// The schemes that the credential may be used with; `nil` lets the credential decide.
    var schemes: AuthenticationSchemes?
    /// The trace context of the request; each attempt is a span of this trace.
    var trace: TraceContext?
    var redirectHandler: (any RedirectHandler)?
    var cachedResponseHandler: (any CachedResponseHandler)?
    /// The request's own monitors, in the order in which they were added.
    var monitors: [MonitorMailbox] = []
    var urlRequestHandler: (queue: DispatchQueue, handler: @Sendable (URLRequest) -> Void)?
    var taskHandler: (queue: DispatchQueue, handler: @Sendable (URLSessionTask) -> Void)?
    var curlHandlers: [(queue: DispatchQueue, handler: @Sendable (Request) -> Void)] = []
    var responseHandler: (queue: DispatchQueue, handler: HTTPResponseHandler)?
    /// The priority, for times when not all requests can be sent.
    var priority = TransferPriority.normal
    /// The values that the user has set and that the session has captured.
    var values = RequestValueSources()
    /// The deadline of the request, if it has one.
    var deadline: RequestDeadline?
    /// Ends the question to a retrier without the retrier's answer; `nil` while no retrier is being asked.
    var retrierQuestion: (@Sendable () -> Void)?
    /// The delay before a retry, which can be cancelled; `nil` when no delay was started.
    var retryDelay: (any ScheduledCall)?
    /// Whether the request waits for a rate limit.
    var awaitsRateLimit = false
    /// Whether the request has reconnected, as a source of events does; stays true.
    var reconnects = false
    /// The budget that the latest retry was taken from, and the number of that retry; `nil` for none.
    var budgetedRetry: (budget: ObjectIdentifier, number: Int)?
    /// Whether a cancelled download keeps its partial file for resume data.
    var wantsResumeData = false
    var listeners = RequestListeners()
    /// Called when the request has ended, to end its async streams.
    var endings: [@Sendable () -> Void] = []

    /// Observers of final heads that came over the network, with the URL that answered; keyed by the object that added
    /// them.
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

/// Gets the head of a response before its content, and decides whether the content follows.
typealias HTTPResponseHandler =
    @Sendable (_ response: HTTPURLResponse, _ decide: @escaping @Sendable (Request.ResponseDisposition) -> Void) -> Void
