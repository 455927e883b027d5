// The services of an attempt that its links use.

import FireweedTransport
import Foundation
import FoundationNetworking

/// The attempt, as its links see it.
///
/// Every member may be used from any thread.
protocol LinkContext: AnyObject, Sendable {
    /// The moment at which the whole attempt times out, on the transport's clock.
    var deadlineNanoseconds: UInt64? { get }
    /// The idle time-out of the request, in seconds.
    var idleTimeout: TimeInterval { get }
    /// The cache policy of the request.
    var cachePolicy: URLRequest.CachePolicy { get }
    /// Whether the request sends and stores cookies.
    var handlesCookies: Bool { get }
    /// The URL of the page that the request belongs to, for the cookie policy.
    var mainDocument: URL? { get }
    /// The handler that decides about redirects; `nil` leaves them to the session's rules.
    var redirectHandler: (any RedirectHandler)? { get }
    /// The task that is passed to handlers and monitors.
    var sessionTask: URLSessionTask { get }
    /// The present response, in the form that is passed to handlers and monitors.
    var httpURLResponse: HTTPURLResponse? { get }
    /// Whether responses are stored, and whether a handler is asked first; cheap to read.
    var storingPolicy: StoringPolicy { get }

    /// Notifies monitors of a redirect, before it is followed or passed to a handler.
    func announceRedirect(to next: OutgoingMessage)
    /// Notifies monitors of a challenge.
    func announceChallenge(_ head: ResponseHead, to message: OutgoingMessage)
    /// Notifies monitors that the attempt waits for a route.
    func announceWaitForRoute()
    /// Returns the question to the session's delegate about a challenge; `nil` for a WebSocket, and when the delegate
    /// is a plain `SessionDelegate`, which decides nothing.
    func delegateAnswer(to head: ResponseHead, of message: OutgoingMessage) -> DelegateQuestion?
    /// Asks the session's `URLProtocol` classes whether one of them performs the exchange; `completion` gets `nil` when
    /// no class does.
    func offerToProtocols(_ exchange: ChainContext, completion: @escaping @Sendable (LocalAnswer?) -> Void)
    /// Sends a message that validates a stored response while the response is being used (RFC 5861 §3).
    func refresh(_ message: OutgoingMessage, for key: CacheKey, in cache: ResponseCache)
}

/// Asks a delegate on the session's root queue, and calls the completion once with its answer.
typealias DelegateQuestion = @Sendable (_ completion: @escaping @Sendable (ChallengeAnswer) -> Void) -> Void
