// Settings and handlers that few requests have.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

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
    var monitors: [MonitorMailbox] = []
    var urlRequestHandler: (queue: DispatchQueue, handler: @Sendable (URLRequest) -> Void)?
    var taskHandler: (queue: DispatchQueue, handler: @Sendable (URLSessionTask) -> Void)?
    var curlHandlers: [(queue: DispatchQueue, handler: @Sendable (Request) -> Void)] = []
    var responseHandler: (queue: DispatchQueue, handler: HTTPResponseHandler)?
    /// How much the request matters when not all can be sent.
    var priority = TransferPriority.normal
    /// What the user and the session's captures have given.
    var values = RequestValueSources()
    /// The deadline of the request, if it has one.
    var deadline: RequestDeadline?
    /// Answers for the retrier that is being asked; `nil` while none is.
    var retrierQuestion: (@Sendable () -> Void)?
    /// Ends the delay before a retry; `nil` before the first one.
    var retryDelay: (any ScheduledCall)?
    /// Whether the request waits for a rate limit.
    var awaitsRateLimit = false
    /// Whether the latest retry reconnects a source of events.
    var reconnects = false
    /// The budget that the latest retry was taken from, and the number of that retry; `nil` for none.
    var budgetedRetry: (budget: ObjectIdentifier, number: Int)?
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
