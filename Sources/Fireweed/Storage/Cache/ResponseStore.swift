// The protocol of response stores.

import Foundation

/// A storage for the responses of a session's cache.
///
/// A store makes no decisions: the session decides by RFC 9111 whether a response is stored and whether it answers a
/// request. Unless a method says otherwise, it may wait for a disk: it is called neither on an event loop nor on the
/// caller's thread. Any number of sessions and threads may use one store. A session looks up responses while it stores
/// others: so a look-up should not wait for a write, and should throw when it cannot be answered soon. An error never
/// fails a request: the cache then counts as empty.
///
/// A store may serve several users. Unless a response is `public`, the session gives it only to requests with the same
/// credentials: the same values of `Authorization` and of all fields in `TransportOptions.credentialFieldNames`, the
/// same client certificate, and the same `Cookie` field (see ``separatesCookies``).
///
/// - SeeAlso: ``SQLiteResponseStore``; the configuration's `urlCache` is used in the same way.
public protocol ResponseStore: AnyObject, Sendable {
    /// The largest size of one response in bytes, head and content together; larger responses are not offered.
    var maximumEntryByteCount: Int { get }

    /// Whether a stored response answers only requests with the same cookies; true by default.
    ///
    /// RFC 9111 lets a private cache ignore cookies, since a browser has one user. A process on a server often acts for
    /// several users, and a response that is personal without saying so must not reach another user. So responses to
    /// requests with different `Cookie` fields are kept apart, unless the response has `Cache-Control: public`. The
    /// price: misses when an origin renews a cookie with each response, as some load balancers do. A store with one
    /// user may return false: then only `Vary: Cookie` keeps responses apart.
    ///
    /// Read when a session is made.
    var separatesCookies: Bool { get }

    /// Whether the store's responses stay in memory; false unless the store says otherwise.
    ///
    /// A response that a ``CachedResponseHandler`` or a `URLProtocol` allows in memory only
    /// (`URLCache.StoragePolicy.allowedInMemoryOnly`) is stored only if this is true. Read when such a response is
    /// received.
    var isInMemory: Bool { get }

    /// Whether anything may be stored; false only when certainly nothing is. Read like `mayHoldResponse(for:)`.
    var mayHoldResponses: Bool { get }

    /// Whether something may be stored for the key; false only when certainly nothing is.
    ///
    /// Called for every request, on the caller's thread: must return at once, without a disk. True is always correct.
    func mayHoldResponse(for key: String) -> Bool

    /// Reads one of the responses of a key.
    ///
    /// - Parameters:
    ///   - key: the key, which the session makes of the URL.
    ///   - choose: takes the heads of all variants, the most recent first, and returns the index of the response to
    ///     read, or `nil`.
    /// - Returns: the chosen response; `nil` when nothing was chosen.
    /// - Throws: any error; the session then sends the request as if nothing were stored.
    func response(for key: String, choosing choose: ([StoredHead]) -> Int?) throws -> StoredResponse?

    /// Announces that `store(_:for:)` follows soon: `mayHoldResponse(for:)` must return true from now on.
    ///
    /// Called on any thread; must return at once.
    func expectResponse(for key: String)

    /// Stores a response completely or not at all; the response replaces one with the same key and variant.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - key: the key, which the session makes of the URL.
    /// - Throws: any error; the response is then not stored, and requests are not affected.
    func store(_ response: StoredResponse, for key: String) throws

    /// Replaces the head of a stored response, after a 304 (RFC 9111 §4.3.4); does nothing when the response is gone.
    ///
    /// - Parameters:
    ///   - head: the new head; it has the `identifier` of the stored response.
    ///   - key: the key, which the session makes of the URL.
    /// - Throws: any error; the older head then stays.
    func updateHead(_ head: StoredHead, for key: String) throws

    /// Removes all responses of a key.
    func removeResponses(for key: String) throws

    /// Removes all responses.
    func removeAllResponses() throws
}

extension ResponseStore {
    /// True: one user's responses never answer another user's requests.
    public var separatesCookies: Bool { true }

    /// False: responses may reach a disk.
    public var isInMemory: Bool { false }

    /// True: only a look-up can decide.
    public var mayHoldResponses: Bool { true }

    /// True: only a look-up can decide.
    public func mayHoldResponse(for key: String) -> Bool { true }

    /// Does nothing: for stores whose `mayHoldResponse(for:)` is always true.
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
