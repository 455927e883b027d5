// RFC 9111 as a table, with RFC 5861 and what of RFC 9110 §13 concerns a cache.

/// Every case; a section without a number of an RFC is RFC 9111's.
enum CacheTable {
    static let all: [CacheCase] = storing + freshness + validation + directives + invalidation + tolerance

    /// What is fresh for a minute.
    static let fresh = "Cache-Control: max-age=60"
}
