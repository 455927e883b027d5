// The contract of stores that take a while to reach.

import Foundation

/// Keeps responses for a session's cache at a place that is reached over a network.
///
/// The asynchronous counterpart of ``ResponseStore``. No queue and no thread waits for a call. Like a `ResponseStore`,
/// an ``AsyncResponseStore`` decides nothing: RFC 9111 and the session decide what is kept and what answers. An error
/// never fails a request: the cache then counts as empty.
///
/// Methods run on the session's own tasks, any number of them at the same time. A task is cancelled when its time is
/// over: ``timeout`` for a look, ten times as long for a change. The session does not wait longer, whatever the store
/// does with the cancellation. Changes of one session are made one after the other, in their order. A change that
/// failed or was too slow hides what the store has for the key from that session, until a later change has removed it.
///
/// A session gets its store by the parameter `asyncResponseStore`.
public protocol AsyncResponseStore: AnyObject, Sendable {
    /// The bytes that one response may have at most, content and head together; larger ones are not offered.
    var maximumEntryByteCount: Int { get }

    /// Whether a stored response answers only requests with the same cookies; true by default.
    ///
    /// Read when a session is made.
    /// - SeeAlso: ``ResponseStore/separatesCookies``.
    var separatesCookies: Bool { get }

    /// Longest time for a look; 100 milliseconds by default.
    ///
    /// A look that takes longer is a miss. Read when a session is made.
    var timeout: Duration { get }

    /// Longest time for which a request waits for one fetch of another process; zero, the default, never waits.
    ///
    /// After that the session looks again, and waits again as long as the look gives
    /// ``ResponseLookup/Fetch/elsewhere``: so a claim has to end after this time, and one of those that wait
    /// gets the next one. A slow origin is then asked once in this time, and not by all at once. A request waits no
    /// longer than it would wait for the origin.
    ///
    /// Read when a session is made.
    /// - SeeAlso: ``ResponseLookup/Fetch``.
    var fetchTimeout: Duration { get }

    /// Looks for a response of a key.
    ///
    /// - Parameters:
    ///   - key: the target URI in one spelling, without fragment and user information.
    ///   - claimsFetch: whether the request is about to fetch what is missing, and would store it. A store that lets
    ///     one process fetch for several may then answer with ``ResponseLookup/Fetch/claimed`` or
    ///     ``ResponseLookup/Fetch/elsewhere``.
    ///   - choose: gets the heads of all variants, the most recent first, and gives an index or `nil`.
    /// - Returns: the response that `choose` picked, if there is one, and what else is known of the key.
    /// - Throws: any error; the look is then a miss.
    func lookUp(
        _ key: String, claimsFetch: Bool, choosing choose: @escaping @Sendable ([StoredHead]) -> Int?
    ) async throws -> ResponseLookup

    /// Waits until a fetch of another process may have ended.
    ///
    /// Called after ``ResponseLookup/Fetch/elsewhere``; the session looks again when this returns or throws, or when
    /// ``fetchTimeout`` is over.
    ///
    /// - Parameter key: the key of the look.
    /// - Throws: any error; the session then looks again at once.
    func waitForFetch(of key: String) async throws

    /// Ends a fetch that ``ResponseLookup/Fetch/claimed`` gave to this session.
    ///
    /// Called once for each claim, after the response has been stored if it is stored.
    ///
    /// - Parameters:
    ///   - key: the key of the look.
    ///   - isShareable: false when the response was not for other requests, so that they need not wait for the next
    ///     one either.
    /// - Throws: any error, which changes nothing for the session.
    func endFetch(of key: String, isShareable: Bool) async throws

    /// Stores a response in place of any of the same key and variant; whole or not at all.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - key: the key of the target.
    ///   - revision: the revision of the look that preceded the request, or `nil` when there was no look. A store that
    ///     several processes use must not store a response when the key was removed after that look: the response may
    ///     be older than the change that caused the removal (RFC 9111 §4.4).
    /// - Throws: any error; the session then takes nothing of what the store has for the key.
    func store(_ response: StoredResponse, for key: String, revision: UInt64?) async throws

    /// Stores another head for the content that the head's identifier stands for; does nothing when it is gone.
    ///
    /// A head that is older than the stored head (`StoredHead.responseTime`) must not replace it.
    func updateHead(_ head: StoredHead, for key: String) async throws

    /// Forgets all responses of a key.
    func removeResponses(for key: String) async throws

    /// Forgets everything.
    func removeAllResponses() async throws
}

extension AsyncResponseStore {
    /// True: one user's responses never answer another user's requests.
    public var separatesCookies: Bool { true }

    /// 100 milliseconds.
    public var timeout: Duration { .milliseconds(100) }

    /// Zero: no request waits for another process.
    public var fetchTimeout: Duration { .zero }

    /// Returns at once.
    public func waitForFetch(of key: String) async throws {}

    /// Does nothing.
    public func endFetch(of key: String, isShareable: Bool) async throws {}
}

/// The result of a look-up in an ``AsyncResponseStore``.
public struct ResponseLookup: Sendable {
    /// The claim on the fetch of a missing response.
    public enum Fetch: Sendable {
        /// No process fetches the response: the request is sent.
        case unclaimed
        /// This session: others wait, until ``AsyncResponseStore/endFetch(of:isShareable:)`` is called.
        case claimed
        /// Another session, perhaps in another process: the request waits for it, within
        /// ``AsyncResponseStore/fetchTimeout``.
        case elsewhere
    }

    /// The response that was chosen; `nil` when there is none.
    public var response: StoredResponse?
    /// A number that changes when the key is removed; given back with what is stored.
    public var revision: UInt64?
    /// Who fetches what is missing; means nothing when there is a response.
    public var fetch: Fetch

    /// Makes the result of a look.
    ///
    /// - Parameters:
    ///   - response: the response that was chosen.
    ///   - revision: a number that changes when the key is removed; `nil` where the store does not keep one.
    ///   - fetch: whether this caller fetches a missing response, or another one does.
    public init(response: StoredResponse? = nil, revision: UInt64? = nil, fetch: Fetch = .unclaimed) {
        self.response = response
        self.revision = revision
        self.fetch = fetch
    }
}
