// A message's use of the cache.

/// How a message uses the cache; `revision` is the revision of the key at the previous look-up.
enum CacheUse: Sendable {
    /// By RFC 9111, after a look-up.
    case byRules
    /// The message is sent without conditions: the 304 to the earlier message was about another response (RFC 9111
    /// §4.3.4).
    case unconditional(revision: UInt64?)
    /// The message validates a stored response that was already used as the answer (RFC 5861 §3).
    indirect case refreshing(StoredResponse, revision: UInt64?)

    var isByRules: Bool { if case .byRules = self { true } else { false } }
}
