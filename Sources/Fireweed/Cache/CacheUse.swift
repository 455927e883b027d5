// How a message uses the cache.

/// What the cache does with a message.
enum CacheUse: Sendable {
    /// What the rules say.
    case byRules
    /// The stored response was about something else: the origin is asked without conditions (RFC 9111 §4.3.4).
    case unconditional
    /// The origin is asked about a stored response that has been used (RFC 5861 §3).
    indirect case refreshing(StoredResponse)
}
