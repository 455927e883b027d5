// Where responses are kept.

import Foundation

/// Keeps responses for a session's cache.
///
/// A store decides nothing: whether a response is kept, and whether it answers a request, is RFC 9111's business and
/// the session's. Every method may wait for a disk and is called off the event loops and off the caller's thread,
/// unless it says otherwise; any number of sessions, and threads, may use one store. A session looks for responses
/// while it stores others: a look should not wait for a write, and a look that cannot be answered soon should throw. An
/// error never fails a request: the cache is then as if empty.
///
/// A store may serve several users: responses to requests with different `Authorization` or `Cookie` fields are kept
/// apart, unless the response is `public` (see `separatesCookies`).
///
/// - SeeAlso: `SQLiteResponseStore`; the configuration's `urlCache` is used in the same way.
public protocol ResponseStore: AnyObject, Sendable {
    /// The bytes that one response may have at most, content and head together; larger ones are not offered.
    var maximumEntryByteCount: Int { get }

    /// Whether a stored response answers only requests with the same cookies; true by default.
    ///
    /// RFC 9111 lets a private cache ignore cookies, since a browser has one user. A process on a server often acts for
    /// several users, and a response that is personal without saying so must not reach another user. So responses to
    /// requests with different `Cookie` fields are kept apart, unless the response has `Cache-Control: public`. The
    /// price are misses where an origin renews a cookie with each response, as some load balancers do. A store that has
    /// one user may return false: then only `Vary: Cookie` keeps responses apart.
    ///
    /// Read when a session is made.
    var separatesCookies: Bool { get }

    /// Whether the store's responses stay in memory; false unless the store says otherwise.
    ///
    /// A response that a `CachedResponseHandler` or a `URLProtocol` allows in memory only
    /// (`URLCache.StoragePolicy.allowedInMemoryOnly`) is stored nowhere else. Read when such a response comes.
    var isInMemory: Bool { get }

    /// False when certainly nothing is stored at all; asked as `mayHoldResponse(for:)` is, and before it.
    var mayHoldResponses: Bool { get }

    /// False when certainly nothing is stored for the key.
    ///
    /// Asked for every request, on the caller's thread: to be answered at once, without a disk. True is always right.
    func mayHoldResponse(for key: String) -> Bool

    /// The stored response that `choose` picks among those of a key, or `nil`.
    ///
    /// `choose` gets the heads of all variants, the most recent first, and gives an index or `nil`.
    func response(for key: String, choosing choose: ([StoredHead]) -> Int?) throws -> StoredResponse?

    /// A call of `store(_:for:)` for the key follows soon: from now on something may be there.
    ///
    /// Called on any thread, to return at once.
    func expectResponse(for key: String)

    /// Stores a response in place of any of the same key and variant; whole or not at all.
    func store(_ response: StoredResponse, for key: String) throws

    /// Stores another head for the content that the head's identifier stands for; does nothing when it is gone.
    func updateHead(_ head: StoredHead, for key: String) throws

    /// Forgets all responses of a key.
    func removeResponses(for key: String) throws

    /// Forgets everything.
    func removeAllResponses() throws
}

extension ResponseStore {
    /// True: one user's responses never answer another user's requests.
    public var separatesCookies: Bool { true }

    /// False: responses may reach a disk.
    public var isInMemory: Bool { false }

    /// True: it is not known without a look.
    public var mayHoldResponses: Bool { true }

    /// True: it is not known without a look.
    public func mayHoldResponse(for key: String) -> Bool { true }

    /// Does nothing: for stores that do not say what is missing.
    public func expectResponse(for key: String) {}
}

/// The store of a session without one.
final class EmptyResponseStore: ResponseStore {
    let maximumEntryByteCount = 0

    var mayHoldResponses: Bool { false }
    func response(for key: String, choosing choose: ([StoredHead]) -> Int?) -> StoredResponse? { nil }
    func store(_ response: StoredResponse, for key: String) {}
    func updateHead(_ head: StoredHead, for key: String) {}
    func removeResponses(for key: String) {}
    func removeAllResponses() {}
}
