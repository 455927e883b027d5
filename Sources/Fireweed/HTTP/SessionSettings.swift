// The settings that a session reads from its `URLSessionConfiguration`, once.

import FireweedTransport
import Foundation
import FoundationNetworking

/// The values of a configuration when the session was made; a `URLSessionConfiguration` is slow to read.
final class SessionSettings: Sendable {
    let fields: FieldBlock
    /// The error for the first field of the session that must not be sent, if any; every request fails with it.
    let fieldViolation: AFError?
    let idleTimeout: TimeInterval
    let resourceTimeout: TimeInterval
    let cookieStorage: HTTPCookieStorage?
    let cookieAcceptPolicy: HTTPCookie.AcceptPolicy
    /// Whether requests carry cookies of the storage.
    let setsCookies: Bool
    /// Whether cookies of responses go into the storage.
    let storesCookies: Bool
    let maximumRedirectCount: Int
    /// The fields that a redirect to another origin drops, in addition to the fields that it always drops.
    let credentialFieldNames: [String]
    /// The names in `credentialFieldNames` that only this session's logs and archives hide, in lower case.
    let ownHiddenFieldNames: Set<String>
    private let requestCachePolicy: URLRequest.CachePolicy

    /// The value of `URLRequest.timeoutInterval` when it was not set.
    private static let unsetTimeout: TimeInterval = 60

    /// The default limit on redirects in one attempt: the limit of browsers.
    private static let standardRedirectCount = 20

    init(_ configuration: URLSessionConfiguration, options: TransportOptions, maximumRedirectCount: Int?) {
        self.maximumRedirectCount = maximumRedirectCount ?? Self.standardRedirectCount
        credentialFieldNames = options.credentialFieldNames
        ownHiddenFieldNames = CredentialFields.ownHiddenNames(options.credentialFieldNames)
        fields = FieldBlock(configuration.headers.map { Field(name: $0.name, value: $0.value) })
        fieldViolation = FieldSyntax.firstViolation(method: "GET", headers: configuration.headers)
        idleTimeout = configuration.timeoutIntervalForRequest
        resourceTimeout = configuration.timeoutIntervalForResource
        cookieStorage = configuration.httpCookieStorage
        cookieAcceptPolicy = configuration.httpCookieAcceptPolicy
        setsCookies = configuration.httpShouldSetCookies && configuration.httpCookieStorage != nil
        storesCookies = configuration.httpCookieAcceptPolicy != .never && configuration.httpCookieStorage != nil
        requestCachePolicy = configuration.requestCachePolicy
    }

    /// The request's own cache policy where it has one, else the session's.
    func cachePolicy(of request: URLRequest?) -> URLRequest.CachePolicy {
        guard let own = request?.cachePolicy, own != .useProtocolCachePolicy else { return requestCachePolicy }
        return own
    }

    /// The request's own time-out where it has one, else the session's; in seconds without a byte.
    func idleTimeout(of request: URLRequest?) -> TimeInterval {
        guard let own = request?.timeoutInterval, own != Self.unsetTimeout else { return idleTimeout }
        return own
    }

    /// The deadline of an attempt that begins at `start`, both on a monotonic clock; `nil` for none.
    func deadlineNanoseconds(after start: UInt64) -> UInt64? {
        guard resourceTimeout > 0, resourceTimeout < 1e9 else { return nil }
        return start.addingSaturating(resourceTimeout.nanoseconds)
    }
}

extension SessionSettings {
    /// The request's fields, and the session's fields that the request does not have; the session's own block when the
    /// request has no fields.
    func fields(addedTo own: HTTPHeaders?) -> FieldBlock {
        guard let own, !own.isEmpty else { return fields }
        let added = own.map { Field(name: $0.name, value: $0.value) }
        guard fields.fields.contains(where: { own[$0.name] != nil }) else { return FieldBlock(fields, adding: added) }
        return FieldBlock(fields.fields.filter { own[$0.name] == nil } + added)
    }
}
