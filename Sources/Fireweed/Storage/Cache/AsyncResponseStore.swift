// The protocol of asynchronous response stores.

import Foundation

/// Stores responses for a session's cache in a place that is reached over a network.
///
/// The asynchronous counterpart of ``ResponseStore``. No queue and no thread waits for a call. Like a `ResponseStore`,
/// an ``AsyncResponseStore`` decides nothing: the session decides by RFC 9111 whether a response is stored and whether
/// it answers a request. An error never fails a request: the cache then counts as empty.
///
/// Methods run on the session's own tasks, any number of them at the same time. A task is cancelled after its time
/// limit: ``timeout`` for a look-up, ten times as long for a change, ``fetchTimeout`` for a wait. The session does not
/// wait longer, even if the store ignores the cancellation. Changes of one session are made one after the other, in
/// their order. After a change failed or was too slow, that session ignores the store's responses for the key, until a
/// later change has removed them.
///
/// A session gets its store with the parameter `asyncResponseStore`.
public protocol AsyncResponseStore: AnyObject, Sendable {
    /// The largest size of one response in bytes, head and content together; larger responses are not offered.
    var maximumEntryByteCount: Int { get }

    /// Whether a stored response answers only requests with the same cookies; true by default.
    ///
    /// Read when a session is made.
    /// - SeeAlso: ``ResponseStore/separatesCookies``.
    var separatesCookies: Bool { get }

    /// Longest time for a look-up; 100 milliseconds by default.
    ///
    /// A look-up that takes longer is a miss. Read when a session is made.
    var timeout: Duration { get }

    /// Longest time for which a request waits for one fetch of another process; zero, the default, never waits.
    ///
    /// After that the session looks up the key again, and waits again if the result is
    /// ``ResponseLookup/Fetch/elsewhere``. So a store must end a claim after this time, and give the next claim to one
    /// of the waiting requests: a slow origin then gets one request in this time, and not all requests at once. A
    /// request waits no longer than it would wait for the origin.
    ///
    /// Read when a session is made.
    /// - SeeAlso: ``ResponseLookup/Fetch``.
    var fetchTimeout: Duration { get }

    /// Looks up a response for a key.
    ///
    /// - Parameters:
    ///   - key: the normalised target URI, without user information. A fragment, if any, is a digest of the session's
    ///     settings that affect which server answers.
    ///   - claimsFetch: whether the request will fetch a missing response, and would store it. A store that lets one
    ///     process fetch for several may then answer with ``ResponseLookup/Fetch/claimed`` or
    ///     ``ResponseLookup/Fetch/elsewhere``.
    ///   - choose: takes the heads of all variants, the most recent first, and returns an index or `nil`.
    /// - Returns: the response that `choose` picked, if any, the key's revision, and the claim on the fetch.
    /// - Throws: any error; the look-up is then a miss.
    func lookUp(
        _ key: String, claimsFetch: Bool, choosing choose: @escaping @Sendable ([StoredHead]) -> Int?
    ) async throws -> ResponseLookup

    /// Waits until a fetch of another process may have ended.
    ///
    /// Called after ``ResponseLookup/Fetch/elsewhere``; the session looks up the key again when this returns or throws,
    /// or when ``fetchTimeout`` is over.
    ///
    /// - Parameter key: the key of the look-up.
    /// - Throws: any error; the session then looks up the key again at once.
    func waitForFetch(of key: String) async throws

    /// Ends a claim that ``ResponseLookup/Fetch/claimed`` gave to this session.
    ///
    /// Called once for each claim, after the response has been stored if it is stored.
    ///
    /// - Parameters:
    ///   - key: the key of the look-up.
    ///   - isShareable: false when other requests cannot use the response; they need not wait for the next one either.
    /// - Throws: any error, which changes nothing for the session.
    func endFetch(of key: String, isShareable: Bool) async throws

    /// Stores a response completely or not at all; the response replaces one with the same key and variant.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - key: the key of the target.
    ///   - revision: the revision of the look-up that preceded the request, or `nil` when there was none. A store that
    ///     several processes use must not store a response when the key was removed after that look-up: the response
    ///     may be older than the change that caused the removal (RFC 9111 §4.4).
    /// - Throws: any error; the session then ignores the store's responses for the key, until a later change has
    ///   removed them.
    func store(_ response: StoredResponse, for key: String, revision: UInt64?) async throws

    /// Replaces the head of the stored response with the same identifier; does nothing when the response is gone.
    ///
    /// A head that is older than the stored head (`StoredHead.responseTime`) must not replace it.
    func updateHead(_ head: StoredHead, for key: String) async throws

    /// Removes all responses of a key.
    func removeResponses(for key: String) async throws

    /// Removes all responses.
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
        /// This session fetches the response: others wait until ``AsyncResponseStore/endFetch(of:isShareable:)`` is
        /// called.
        case claimed
        /// Another session, perhaps in another process, fetches the response: the request waits for the response,
        /// within ``AsyncResponseStore/fetchTimeout``.
        case elsewhere
    }

    /// The response that was chosen; `nil` when there is none.
    public var response: StoredResponse?
    /// A number that changes when the key is removed; passed to ``AsyncResponseStore/store(_:for:revision:)``.
    public var revision: UInt64?
    /// The claim on the fetch of a missing response; ignored when there is a response.
    public var fetch: Fetch

    /// Makes the result of a look-up.
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
