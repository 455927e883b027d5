// A message's use of the cache.

/// The use that a message makes of the cache; the revision is the one of the look before.
enum CacheUse: Sendable {
    /// By RFC 9111, after a look.
    case byRules
    /// The message is sent without conditions: the 304 for an earlier one was about another response (RFC 9111 §4.3.4).
    case unconditional(revision: UInt64?)
    /// The message validates a stored response that has been used (RFC 5861 §3).
    indirect case refreshing(StoredResponse, revision: UInt64?)
}
