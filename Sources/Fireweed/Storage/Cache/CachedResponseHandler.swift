// Decisions on storing in the cache.

public import FoundationNetworking

/// Decides whether a response is stored in the session's cache, and may change it first.
///
/// A session with a store asks about responses to data requests that come from the network or from a `URLProtocol`:
/// every success (2xx) to GET, independent of its fields about caching, and every other response that RFC 9111 lets the
/// session store. The session does not ask about a request or a response with `no-store` (RFC 9111 §5.2), a partial
/// response, a response that is too large for the store, or a response from the cache.
public protocol CachedResponseHandler: Sendable {
    /// Decides whether a response is stored, and with which fields; called on the session's root queue.
    ///
    /// The session stores each response that the handler returns, unless RFC 9111 forbids it. A stored response without
    /// a lifetime (RFC 9111 §4.2.1) answers requests with the policies `returnCacheDataElseLoad` and
    /// `returnCacheDataDontLoad`; for other requests, the handler gives it a lifetime with a field such as
    /// `Cache-Control: max-age=60`.
    ///
    /// - Parameters:
    ///   - task: the task that received the response.
    ///   - response: the whole response.
    ///   - completion: takes the response to store, or `nil` to store none. Call it once, on any thread: the request
    ///     ends after the decision.
    @preconcurrency
    func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void)
}
