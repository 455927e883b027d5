// Who decides what is stored in the cache.

public import FoundationNetworking

/// Decides what becomes of a response that is about to be stored in the session's cache.
public protocol CachedResponseHandler: Sendable {
    /// Called with the response that would be stored; `completion` takes the one to store, or `nil` to store none.
    ///
    /// To be called once, from anywhere; the response reaches its handlers in any case.
    @preconcurrency
    func dataTask(
        _ task: SessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void)
}
