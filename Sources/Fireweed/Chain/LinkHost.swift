// What links ask of the attempt that they work for.

import FireweedTransport
import Foundation
import FoundationNetworking

/// What a link may ask of the attempt whose message it sees, and tell it.
///
/// Every member may be used from any thread.
protocol LinkHost: AnyObject, Sendable {
    /// The moment at which the whole attempt times out, on the transport's clock.
    var deadlineNanoseconds: UInt64? { get }
    /// What the request says about caches.
    var cachePolicy: URLRequest.CachePolicy { get }
    /// Whether the request sends and stores cookies.
    var handlesCookies: Bool { get }
    /// The page that the request is a part of.
    var mainDocument: URL? { get }
    /// Who decides about redirects, if it is not the session's rules alone.
    var redirectHandler: (any RedirectHandler)? { get }
    /// The task that handlers are shown.
    var sessionTask: URLSessionTask { get }
    /// The present response as handlers are shown it.
    var httpURLResponse: HTTPURLResponse? { get }
    /// Whether responses are stored, and somebody is asked about that. Cheap.
    var storingWishes: StoringWishes { get }

    /// Monitors are told of a redirect that is about to be followed, or shown to a handler.
    func announceRedirect(to next: OutgoingMessage)
    /// Monitors are told of a challenge.
    func announceChallenge(_ head: ResponseHead, to message: OutgoingMessage)
    /// Monitors are told that there is no route.
    func announceWaitForRoute()
    /// Asks the session's delegate about a challenge; `nil` when the delegate is no subclass, and cannot be asked.
    func delegateAnswer(to head: ResponseHead, of message: OutgoingMessage) -> DelegateQuestion?
    /// Asks the session's `URLProtocol` classes whether one of them performs the exchange; `nil` is answered when none
    /// does.
    func offerToProtocols(_ exchange: Exchange, completion: @escaping @Sendable (LocalAnswer?) -> Void)
    /// Asks the origin about a stored response while it is being used (RFC 5861 §3).
    func refresh(_ message: OutgoingMessage, about stored: StoredResponse, in cache: ResponseCache)
}

/// Asks a delegate, and calls the completion once with its answer; on the session's root queue.
typealias DelegateQuestion = @Sendable (_ completion: @escaping @Sendable (ChallengeAnswer) -> Void) -> Void
