// Who decides what is stored in the cache.

public import FoundationNetworking

/// Decides what becomes of a response that could be stored in the session's cache.
///
/// A handler is asked about each response to a data request that the network, or a `URLProtocol`, gave, if the session
/// has a place to store responses: a success (2xx) to GET, whether or not its fields say anything about caching, and
/// any other response that RFC 9111 lets the session store. It is not asked about `no-store` of the request or the
/// response (RFC 9111 §5.2), a partial response, a response that is too large for the store, or one that the cache
/// gave.
public protocol CachedResponseHandler: Sendable {
    /// Called with the whole response; `completion` takes the one to store, or `nil` to store none.
    ///
    /// A response without a lifetime (RFC 9111 §4.2.1) and without a validator (RFC 9110 §8.8) is of no use in a cache,
    /// and is not stored as it is. The handler makes it storable with a field such as `Cache-Control: max-age=60`.
    ///
    /// To be called once, from anywhere; the response reaches its handlers in any case.
    @preconcurrency
    func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void)
}
