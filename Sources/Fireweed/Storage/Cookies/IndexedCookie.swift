// A stored cookie with its parsed properties.

import FireweedTransport
import Foundation
import FoundationNetworking

/// The identity of a cookie (RFC 6265 §5.3, step 11): name, domain and path.
struct CookieIdentity: Hashable {
    let name: String
    /// A `CanonicalHost.identity(of:)`, without a leading dot.
    let domain: String
    let path: String

    init(_ cookie: HTTPCookie) {
        name = cookie.name
        domain = CanonicalHost.identity(of: String(cookie.domain.drop { $0 == "." }))
        path = cookie.path
    }
}

/// A cookie of a storage, with the properties that requests need.
final class IndexedCookie: Sendable {
    let cookie: HTTPCookie
    let identity: CookieIdentity
    /// False when hosts below the domain get the cookie too.
    let isHostOnly: Bool
    let isSecure: Bool
    let expires: Date?
    /// The creation time of the cookie, or of the first cookie that it replaced; in seconds since Foundation's
    /// reference date.
    let made: TimeInterval
    /// The cookie's part of a `Cookie` field.
    let text: String
    /// The bytes of `text`, for a cookie that is not UTF-8; else `nil`.
    let octets: [UInt8]?

    /// Reads a cookie; the cookie gets the creation time of an earlier cookie that it replaces (RFC 6265 §5.3, step
    /// 11.3).
    init(_ cookie: HTTPCookie, replacing replaced: IndexedCookie? = nil) {
        self.cookie = cookie
        identity = CookieIdentity(cookie)
        // To Foundation, a leading dot of the domain means that the cookie is not host-only.
        isHostOnly = cookie.domain.utf8.first != UInt8(ascii: ".")
        isSecure = cookie.isSecure
        expires = cookie.expiresDate
        made = replaced?.made ?? cookie.properties?[HTTPCookiePropertyKey("Created")] as? TimeInterval ?? 0
        text = cookie.name.isEmpty ? cookie.value : "\(cookie.name)=\(cookie.value)"
        octets = (cookie as? OctetCookie)?.octets
    }

    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// Whether the two cookies differ at most in their creation time.
    func says(theSameAs other: IndexedCookie) -> Bool {
        identity == other.identity && text == other.text && octets == other.octets && isHostOnly == other.isHostOnly
            && isSecure == other.isSecure && expires == other.expires && cookie.isHTTPOnly == other.cookie.isHTTPOnly
            && cookie.isSessionOnly == other.cookie.isSessionOnly
    }

    /// Whether `left` is sent before `right`: longer paths first, then older cookies (§5.4, step 2).
    static func isSent(_ left: IndexedCookie, before right: IndexedCookie) -> Bool {
        let (length, otherLength) = (left.identity.path.utf8.count, right.identity.path.utf8.count)
        if length != otherLength { return length > otherLength }
        return left.made != right.made ? left.made < right.made : left.identity.name < right.identity.name
    }
}
