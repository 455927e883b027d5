// Who decides about redirects.

import Foundation
public import FoundationNetworking

/// Decides what becomes of a redirect.
public protocol RedirectHandler: Sendable {
    /// How many redirects of one attempt are followed; one more ends it with `URLError.httpTooManyRedirects`.
    ///
    /// `nil`, the default, leaves it to the session.
    var maximumRedirectCount: Int? { get }

    /// The fields that a redirect to another origin drops, besides `Authorization` and `Cookie`; names have no case.
    ///
    /// `nil`, the default, leaves them to `TransportOptions.credentialFieldNames`; an empty array drops no further
    /// ones.
    var credentialFieldNames: [String]? { get }

    /// Called with the request that would follow; `completion` takes the one to send, or `nil` to take the redirect
    /// itself as the response. Called on the session's root queue; the completion may be called from anywhere, once.
    @preconcurrency
    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void)
}

extension RedirectHandler {
    /// `nil`: as many as the session says.
    public var maximumRedirectCount: Int? { nil }
    /// `nil`: those that `TransportOptions.credentialFieldNames` names.
    public var credentialFieldNames: [String]? { nil }
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
        @preconcurrency case modify(@Sendable (URLSessionTask, URLRequest, HTTPURLResponse) -> URLRequest?)
    }

    /// Follows redirects.
    public static let follow = Redirector(behavior: .follow)
    /// Takes the redirect itself as the response.
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    /// What to do with a redirect.
    public let behavior: Behavior

    /// How many redirects of one attempt are followed; `nil` leaves it to the transport options.
    public let maximumRedirectCount: Int?

    /// The fields that a redirect to another origin drops; `nil` leaves them to the transport options.
    public let credentialFieldNames: [String]?

    /// Makes a handler of a behaviour, which leaves everything else to `TransportOptions`.
    public init(behavior: Behavior) {
        self.init(behavior: behavior, maximumRedirectCount: nil)
    }

    /// Makes a handler of a behaviour.
    ///
    /// - Parameters:
    ///   - behavior: what to do with a redirect.
    ///   - maximumRedirectCount: how many are followed; `nil`, the default, leaves it to `TransportOptions`. With zero,
    ///     and less, the first one is one too many.
    ///   - credentialFieldNames: fields that a redirect to another origin drops, besides `Authorization` and `Cookie`;
    ///     `nil`, the default, leaves them to `TransportOptions`.
    public init(
        behavior: Behavior, maximumRedirectCount: Int? = nil, credentialFieldNames: [String]? = nil
    ) {
        self.behavior = behavior
        self.maximumRedirectCount = maximumRedirectCount
        self.credentialFieldNames = credentialFieldNames
    }

    /// Does what the behaviour says.
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

    /// Sends what the closure gives, or takes the redirect itself when that is `nil`.
    @preconcurrency
    public static func modify(
        using closure: @escaping @Sendable (URLSessionTask, URLRequest, HTTPURLResponse) -> URLRequest?
    ) -> Redirector {
        Redirector(behavior: .modify(closure))
    }
}
