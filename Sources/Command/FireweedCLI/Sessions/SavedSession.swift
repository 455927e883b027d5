// The state of a session, kept between runs.

import Fireweed
import Foundation

/// The cookies and credentials of a named session.
struct SavedSession: Codable, Equatable {
    /// A cookie, with a dot before its domain unless it is for one host alone.
    struct Cookie: Codable, Equatable {
        var name: String
        var value: String
        var domain: String
        var path: String
        /// Seconds since 1970; `nil` for a cookie that ends with its session, which this one outlives.
        var expires: Double?
        var isSecure: Bool
        var isHTTPOnly: Bool
        /// Name and value as they go on the wire, where they are not UTF-8.
        var octets: Data?
    }

    /// Credentials, bound to one origin.
    struct Credentials: Codable, Equatable {
        var origin: String
        var type: String
        var secret: String
    }

    var version = 1
    var cookies: [Cookie] = []
    var credentials: [Credentials] = []

    // MARK: Cookies

    func restoreCookies(in storage: HTTPCookieStorage?) {
        for cookie in cookies {
            var properties: [HTTPCookiePropertyKey: Any] = [
                .name: cookie.name, .value: cookie.value, .domain: cookie.domain, .path: cookie.path,
            ]
            if cookie.isSecure { properties[.secure] = "TRUE" }
            if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
            properties[.expires] = cookie.expires.map(Date.init(timeIntervalSince1970:))
            if let made = HTTPCookie.make(properties, octets: cookie.octets) { storage?.setCookie(made) }
        }
    }

    mutating func takeCookies(from storage: HTTPCookieStorage?, now: Date = Date()) {
        let current = (storage?.cookies ?? []).filter { $0.expiresDate.map { $0 > now } ?? true }
        cookies = current.map { cookie in
            Cookie(
                name: cookie.name, value: cookie.value, domain: cookie.domain, path: cookie.path,
                expires: cookie.expiresDate?.timeIntervalSince1970, isSecure: cookie.isSecure,
                isHTTPOnly: cookie.isHTTPOnly, octets: cookie.wireOctets)
        }
        cookies.sort { ($0.domain, $0.path, $0.name) < ($1.domain, $1.path, $1.name) }
    }

    // MARK: Credentials

    /// Scheme, host and port: what credentials are bound to (RFC 9110 §4.3.1).
    static func origin(of url: URL) -> String {
        let scheme = url.scheme?.lowercased() ?? "http"
        return "\(scheme)://\(url.host.map(CanonicalHost.identity) ?? ""):\(url.port ?? (scheme == "https" ? 443 : 80))"
    }

    func authentication(for url: URL) -> Authentication? {
        guard let found = credentials.first(where: { $0.origin == Self.origin(of: url) }),
            let type = Invocation.AuthenticationType(rawValue: found.type)
        else { return nil }
        return Authentication(type: type, secret: found.secret)
    }

    mutating func set(_ authentication: Authentication, for url: URL) {
        let origin = Self.origin(of: url)
        credentials.removeAll { $0.origin == origin }
        credentials.append(
            Credentials(origin: origin, type: authentication.type.rawValue, secret: authentication.secret))
    }
}
