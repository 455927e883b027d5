// Who decides about redirects.

import Foundation
public import FoundationNetworking

/// Decides what becomes of a redirect.
public protocol RedirectHandler: Sendable {
    /// How many redirects of one attempt are followed; one more ends it with `URLError.httpTooManyRedirects`. 20 by default.
    var maximumRedirectCount: Int { get }

    /// Called with the request that would follow; `completion` takes the one to send, or `nil` to take the redirect itself as the
    /// response. Called on the session's root queue; the completion may be called from anywhere, once.
    func task(
        _ task: SessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void)
}

extension RedirectHandler {
    /// 20.
    public var maximumRedirectCount: Int { RedirectRules.limit }
}

/// Follows redirects, or not, or changes them.
public struct Redirector: RedirectHandler {
    /// What to do with a redirect.
    public enum Behavior: Sendable {
        /// Follow it.
        case follow
        /// Take the redirect itself as the response.
        case doNotFollow
        /// Send what the closure gives, or take the redirect itself when that is `nil`.
        case modify(@Sendable (SessionTask, URLRequest, HTTPURLResponse) -> URLRequest?)
    }

    /// Follows redirects.
    public static let follow = Redirector(behavior: .follow)
    /// Takes the redirect itself as the response.
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    /// What to do with a redirect.
    public let behavior: Behavior

    /// How many redirects of one attempt are followed.
    public let maximumRedirectCount: Int

    /// Makes a handler of a behaviour.
    ///
    /// - Parameters:
    ///   - behavior: what to do with a redirect.
    ///   - maximumRedirectCount: how many are followed; 20 by default. With zero, and less, the first one is one too many.
    public init(behavior: Behavior, maximumRedirectCount: Int = 20) {
        self.behavior = behavior
        self.maximumRedirectCount = maximumRedirectCount
    }

    /// Does what the behaviour says.
    public func task(
        _ task: SessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
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

    /// Sends what the closure gives, or takes the redirect itself when that is `nil`.
    public static func modify(
        using closure: @escaping @Sendable (SessionTask, URLRequest, HTTPURLResponse) -> URLRequest?
    ) -> Redirector {
        Redirector(behavior: .modify(closure))
    }
}
