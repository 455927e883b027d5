// Limiters in a file.

#if SQLite
public import Foundation

extension RateLimiter {
    /// Makes a limiter that the processes of one machine share through an SQLite file.
    ///
    /// Requests of all these processes take their slots from one sequence. When one process gets a 429 or 503 with
    /// `Retry-After`, all processes hold requests of that key back. The slot of a request that is cancelled while it
    /// waits stays unused. A restart of the machine forgets slots and pauses; so does the removal of the file, which is
    /// then made again. A damaged file is renamed to `…-damaged` and replaced by an empty one. A small lock file,
    /// `…-lock`, is beside it.
    ///
    /// ```swift
    /// let file = URL(filePath: "/var/lib/service/limits.sqlite")
    /// let session = Session(interceptor: try RateLimiter(file: file, RateLimit(100, per: .seconds(1))))
    /// ```
    /// - Parameters:
    ///   - file: the database, which is made, for this user only, if it does not exist.
    ///   - limit: how many requests all processes send together.
    ///   - name: distinguishes limits in the same file.
    ///   - scope: which requests share the limit.
    ///   - maximumWait: longest time that a request may have to wait, as in ``maximumWait``.
    ///   - maximumPause: longest time for which a server's fields hold requests back, as in ``maximumPause``.
    ///   - whenUnusable: what a request does while the file cannot be used; by default it keeps to the limit within
    ///     this process.
    /// - Throws: `RateLimitError.cannotOpen(path:reason:)`.
    public convenience init(
        file: URL, _ limit: RateLimit, name: String = "requests", scope: Scope = .origin,
        maximumWait: Duration? = nil, maximumPause: Duration = .seconds(86_400),
        whenUnusable: RateLimitFallback = .share(ofProcesses: 1)
    ) throws(RateLimitError) {
        self.init(
            limit, scope: scope, maximumWait: maximumWait, maximumPause: maximumPause,
            backend: try SQLiteRateLimits(file: file, name: name, fallback: whenUnusable))
    }
}
#endif
