// Decisions on redirects.

import Foundation
public import FoundationNetworking

/// Decides whether a redirect is followed, and may change the request that follows.
public protocol RedirectHandler: Sendable {
    /// The most redirects that one attempt follows; the next one ends the attempt with `URLError.httpTooManyRedirects`.
    ///
    /// `nil`, the default, uses the session's limit.
    var maximumRedirectCount: Int? { get }

    /// The credential fields that a redirect to another origin drops; names are compared without case.
    ///
    /// `nil`, the default, uses `TransportOptions.credentialFieldNames`. `Authorization`, `Proxy-Authorization`,
    /// `Cookie`, `Sec-WebSocket-Protocol` and `Host` are always dropped, even with an empty array.
    var credentialFieldNames: [String]? { get }

    /// Decides about one redirect; called on the session's root queue.
    ///
    /// This method is also called for a `Location` that cannot be followed, such as `app://signed-in`, or text that is
    /// not a URL: `request` then has that URL, or for such text the URL of the redirected message. A handler that
    /// returns this request unchanged ends the attempt with `URLError.unsupportedURL` or
    /// `.redirectToNonExistentLocation`.
    ///
    /// Content in memory, such as a short form, is the `httpBody` of `request`, and is not sent if the handler removes
    /// it. Content of a file, of a stream or of a form above its memory threshold is not in `request`: it is sent again
    /// unless the handler gives the request other content. A request that the handler makes a GET or a HEAD has no
    /// content unless the handler gives it some.
    ///
    /// A changed `request` is sent as it is. A new request, which has none of the session's fields, gets the session's
    /// fields that it does not set itself, except the fields in ``credentialFieldNames``.
    /// Its `timeoutInterval` and `cachePolicy` are ignored: those of the first request are for all its messages.
    ///
    /// - Parameters:
    ///   - task: the task that is redirected.
    ///   - request: the request that would follow, as RFC 9110 §15.4 makes it.
    ///   - response: the response with the redirect.
    ///   - completion: takes the request to send, or `nil` to take the redirect itself as the response. Call it once,
    ///     on any thread.
    @preconcurrency
    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void)
}

extension RedirectHandler {
    /// `nil`: uses the session's limit.
    public var maximumRedirectCount: Int? { nil }
    /// `nil`: uses `TransportOptions.credentialFieldNames`.
    public var credentialFieldNames: [String]? { nil }
}

/// A handler that follows redirects, does not follow them, or changes the request that follows.
public struct Redirector: RedirectHandler {
    /// What to do with a redirect.
    public enum Behavior: Sendable {
        /// Follow it.
        case follow
        /// Take the redirect itself as the response.
        case doNotFollow
        /// Send the request that the closure returns; with `nil`, the redirect itself is the response.
        @preconcurrency case modify(@Sendable (URLSessionTask, URLRequest, HTTPURLResponse) -> URLRequest?)
    }

    /// Follows redirects.
    public static let follow = Redirector(behavior: .follow)
    /// Takes the redirect itself as the response.
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    /// What to do with a redirect.
    public let behavior: Behavior

    /// The most redirects that one attempt follows; `nil` uses the session's limit.
    public let maximumRedirectCount: Int?

    /// The credential fields that a redirect to another origin drops, besides those that are always dropped.
    ///
    /// `nil` uses `TransportOptions.credentialFieldNames`.
    public let credentialFieldNames: [String]?

    /// Makes a handler with a behaviour; the limit and the fields are the session's.
    public init(behavior: Behavior) {
        self.init(behavior: behavior, maximumRedirectCount: nil)
    }

    /// Makes a handler with a behaviour.
    ///
    /// - Parameters:
    ///   - behavior: what to do with a redirect.
    ///   - maximumRedirectCount: the most redirects that one attempt follows; `nil`, the default, uses the session's
    ///     limit. With zero or less, the first redirect ends the attempt.
    ///   - credentialFieldNames: fields that a redirect to another origin drops, besides those that are always dropped;
    ///     `nil`, the default, uses `TransportOptions.credentialFieldNames`.
    public init(
        behavior: Behavior, maximumRedirectCount: Int? = nil, credentialFieldNames: [String]? = nil
    ) {
        self.behavior = behavior
        self.maximumRedirectCount = maximumRedirectCount
        self.credentialFieldNames = credentialFieldNames
    }

    /// Decides according to the behaviour.
    @preconcurrency
    public func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        switch behavior {
        case .follow: completion(request)
        case .doNotFollow: completion(nil)
        case .modify(let change): completion(change(task, request, response))
        }
    }
}

extension RedirectHandler where Self == Redirector {
    /// Follows redirects.
    public static var follow: Redirector { .follow }
    /// Takes the redirect itself as the response.
    public static var doNotFollow: Redirector { .doNotFollow }

    /// Sends the request that the closure returns; with `nil`, the redirect itself is the response.
    @preconcurrency
    public static func modify(
        using closure: @escaping @Sendable (URLSessionTask, URLRequest, HTTPURLResponse) -> URLRequest?
    ) -> Redirector {
        Redirector(behavior: .modify(closure))
    }
}
