// The usual decisions about storing responses.

public import FoundationNetworking

/// A handler that stores responses, stores none, or changes them first.
public struct ResponseCacher: CachedResponseHandler {
    /// What to do with a response that is about to be stored.
    public enum Behavior: Sendable {
        /// Store it.
        case cache
        /// Do not store it.
        case doNotCache
        /// Store the closure's result; with `nil`, store nothing.
        @preconcurrency case modify(
            @Sendable (_ task: URLSessionDataTask, _ cachedResponse: CachedURLResponse) -> CachedURLResponse?)
    }

    /// Stores responses.
    public static let cache = ResponseCacher(behavior: .cache)
    /// Stores no response.
    public static let doNotCache = ResponseCacher(behavior: .doNotCache)

    /// What to do with a response that is about to be stored.
    public let behavior: Behavior

    /// Makes a handler with a behaviour.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Decides according to the behaviour.
    @preconcurrency
    public func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        switch behavior {
        case .cache: completion(response)
        case .doNotCache: completion(nil)
        case .modify(let change): completion(change(task, response))
        }
    }
}

extension CachedResponseHandler where Self == ResponseCacher {
    /// Stores responses.
    public static var cache: ResponseCacher { .cache }
    /// Stores no response.
    public static var doNotCache: ResponseCacher { .doNotCache }

    /// Stores the closure's result; with `nil`, stores nothing.
    @preconcurrency
    public static func modify(
        using closure: @escaping @Sendable (URLSessionDataTask, CachedURLResponse) -> CachedURLResponse?
    ) -> ResponseCacher {
        ResponseCacher(behavior: .modify(closure))
    }
}
