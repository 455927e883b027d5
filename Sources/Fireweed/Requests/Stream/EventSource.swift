// The state that a client of server-sent events keeps between connections (WHATWG HTML §9.2.2 to §9.2.4).

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// The state that a source of events keeps across connections; pure.
struct EventSourceState: Sendable {
    /// The caller's rule; `nil` is `.automatic` with idempotent methods, and `.never` with the others.
    let rule: ServerSentEvent.Reconnection?
    /// The last event ID so far.
    var lastEventID = ""
    /// The wait before a reconnection: the rule's wait, until the server sets another wait (`retry`).
    private(set) var reconnectionTime: Duration
    private var failureCount = 0
    private var isOpen = false
    private var isStopped = false

    /// The shortest wait that a server can set, and the shortest base of the backoff after failures.
    static let shortestBackoff = Duration.milliseconds(100)

    init(rule: ServerSentEvent.Reconnection?) {
        self.rule = rule
        reconnectionTime = min((rule ?? .automatic).delay, .milliseconds(ServerSentEventParser.longestMilliseconds))
    }

    /// Sets the wait that the server asks for, but at least `shortestBackoff`: with no wait, the server would be
    /// flooded with connections.
    mutating func wait(_ time: Duration) {
        reconnectionTime = max(time, Self.shortestBackoff)
    }

    /// The error with which a response's head ends the source; `nil` when the content may be read, and for status 204.
    mutating func refusal(status: Int, contentType: String?) -> AFError? {
        isOpen = false
        // Status 204 tells a client to stop reconnecting (WHATWG HTML §9.2): it is not an error.
        isStopped = status == 204
        guard !isStopped else { return nil }
        guard status == 200 else {
            return .responseValidationFailed(reason: .unacceptableStatusCode(code: status))
        }
        let acceptable = ["text/event-stream"]
        guard let contentType else {
            return .responseValidationFailed(reason: .missingContentType(acceptableContentTypes: acceptable))
        }
        let essence = contentType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        guard essence == acceptable[0] else {
            return .responseValidationFailed(
                reason: .unacceptableContentType(
                    acceptableContentTypes: acceptable, responseContentType: contentType))
        }
        isOpen = true
        failureCount = 0
        return nil
    }

    /// The wait before connecting again; `nil` when the source does not reconnect.
    mutating func delay(after error: AFError?, method: HTTPMethod = .get) -> Duration? {
        // A request that is not idempotent might take effect again with each connection (RFC 9110 §9.2.2), so by
        // default it does not reconnect.
        let isIdempotent = HTTPMethod.idempotent.contains(method)
        let rule = rule ?? (isIdempotent ? .automatic : .never)
        let wasOpen = isOpen
        isOpen = false
        guard rule.isEnabled, !isStopped else { return nil }
        if let error, !Self.mayPass(error) { return nil }
        if wasOpen { return reconnectionTime }
        failureCount += 1
        if let limit = rule.maximumFailureCount, failureCount >= limit { return nil }
        guard failureCount > 1 else { return reconnectionTime }
        let doubled = max(reconnectionTime, Self.shortestBackoff) * (1 << min(failureCount - 1, 20))
        return max(min(doubled, rule.maximumDelay), reconnectionTime)
    }

    /// Whether a failure is transient: one of the errors that a ``RetryPolicy`` retries by default.
    private static func mayPass(_ error: AFError) -> Bool {
        guard case .sessionTaskFailed(let error) = error, let code = (error as? URLError)?.code else { return false }
        return URLError.transientCodes.contains(code)
    }
}

/// A source of events, shared by the request and the reader of the request's content.
final class EventSource: Sendable {
    private let state: Mutex<EventSourceState>

    init(rule: ServerSentEvent.Reconnection?) {
        state = Mutex(EventSourceState(rule: rule))
    }

    var lastEventID: String { state.withLock { $0.lastEventID } }

    func refusal(of head: ResponseHead) -> AFError? {
        state.withLock { $0.refusal(status: head.status, contentType: head.value(of: "Content-Type")) }
    }

    /// Seconds until the next connection; `nil` when there is none.
    func delay(after error: AFError?, method: HTTPMethod) -> TimeInterval? {
        state.withLock { $0.delay(after: error, method: method) }.map { $0 / .seconds(1) }
    }

    /// Records the last event ID and the reconnection time that the parser has read.
    func note(_ parser: ServerSentEventParser) {
        state.withLock { state in
            state.lastEventID = parser.lastEventID
            if let time = parser.reconnectionTime { state.wait(time) }
        }
    }

    /// Returns the request with the fields of an event source; an existing `Accept` or `Cache-Control` field stays.
    func completing(_ request: URLRequest) -> URLRequest {
        var request = request
        if request.headers["Accept"] == nil { request.headers.add(name: "Accept", value: "text/event-stream") }
        if request.headers["Cache-Control"] == nil { request.headers.add(name: "Cache-Control", value: "no-cache") }
        let id = lastEventID
        // A server may send an ID with a control character, which no field can have.
        let field = Field(name: "Last-Event-ID", value: id)
        if !id.isEmpty, field.isSendable { request.headers.update(name: field.name, value: field.value) }
        return request
    }
}
