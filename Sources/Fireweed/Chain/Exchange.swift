// One message and its answer, as the links of a chain see them.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// A message on its way out, and what the links remember until its answer comes.
struct Exchange: Sendable {
    /// The message as the user, a redirect or an answer to a challenge made it.
    private(set) var hop: Hop
    /// The text of the message's URL.
    private(set) var urlText: String
    /// The fields to send: the message's own, and those that links added.
    var fields: FieldBlock
    /// Whether a link has to see the head of the answer, whatever the head says.
    var awaitsHead = false
    /// The last challenge that was answered with the message's credentials.
    var answeredChallenge: ResponseHead?
    /// What the response cache has to know when the answer comes; `nil` when the answer does not concern it.
    var cacheQuery: CacheQuery?
    /// Stores the response's content while it comes.
    var recorder: ResponseRecorder?
    /// Whether nothing is sent: only a stored response was wanted, and none is suitable.
    var isUnsent = false
    /// What is done off the transport's thread, before another message is sent and before handlers are told of the end.
    var chores: [Chore] = []

    /// Work that may end later; the group is entered until it has.
    typealias Chore = @Sendable (DispatchGroup) -> Void

    init(_ hop: Hop) {
        self.hop = hop
        urlText = hop.url.absoluteString
        fields = hop.fields
        answeredChallenge = hop.challenge
    }

    /// Changes the message; fields that links added are kept.
    mutating func changeMessage(_ change: (inout Hop) -> Void) {
        let (url, own) = (hop.url, hop.fields)
        change(&hop)
        if hop.url != url { urlText = hop.url.absoluteString }
        if hop.fields !== own, fields === own { fields = hop.fields }
    }

    /// The exchange as it was before it walked the chain.
    var unsent: Exchange { Exchange(hop) }
}

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
    /// Whether responses to this attempt are stored.
    var storesResponses: Bool { get }
    /// Whether `storingDecision` gives somebody. Cheap.
    var asksAboutStoring: Bool { get }
    /// Who decides what is stored, or is told of it; `nil` for nobody.
    var storingDecision: StoringDecision? { get }

    /// Monitors are told of a redirect that is about to be followed, or shown to a handler.
    func announceRedirect(to next: Hop)
    /// Monitors are told of a challenge.
    func announceChallenge(_ head: ResponseHead, to hop: Hop)
    /// Monitors are told that there is no route.
    func announceWaitForRoute()
    /// Asks the session's delegate about a challenge; `nil` when the delegate is no subclass, and cannot be asked.
    func delegateAnswer(to head: ResponseHead, of hop: Hop) -> DelegateQuestion?
    /// Asks the classes whether one of them performs the exchange; `nil` is answered when none does.
    func offer(
        _ exchange: Exchange, to classes: ProtocolClasses, completion: @escaping @Sendable (Answer?) -> Void)
    /// Asks the origin about a stored response while it is being used (RFC 5861 §3).
    func refresh(_ hop: Hop, about stored: StoredResponse, in cache: ResponseCache)
}

/// Asks a delegate, and calls the completion once with its answer; on the session's root queue.
typealias DelegateQuestion = @Sendable (_ completion: @escaping @Sendable (ChallengeAnswer) -> Void) -> Void
