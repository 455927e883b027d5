// The rules for accepting and sending cookies.

import FireweedTransport
package import Foundation
package import FoundationNetworking

/// The rules of RFC 6265 §5, on plain values.
///
/// These rules replace Foundation's, which on Linux (Swift 6.3, measured) ignores `Max-Age`, reads a two-digit year as
/// a year of the first century, takes `/` for the default path, accepts any `Domain` from any host, splits a field at
/// every comma, and sends `Secure` cookies over clear text and `/app` cookies to `/apple`.
package enum CookieRules {
    // MARK: Keeping (§5.3)

    /// Returns the cookie to store; `nil` when the cookie has to be ignored.
    package static func accepted(_ line: String, from url: URL, now: Date) -> HTTPCookie? {
        SetCookie(line).flatMap { accepted($0, from: url, now: now) }
    }

    /// Returns the cookie to store; `nil` when the cookie has to be ignored.
    static func accepted(_ cookie: SetCookie, from url: URL, now: Date) -> HTTPCookie? {
        guard let host = url.host.map(CanonicalHost.identity), !host.isEmpty, !host.hasPrefix(".")
        else { return nil }
        let isSecureOrigin = url.scheme?.lowercased() == "https"
        // By RFC 6265bis, a response in clear text must not set a `Secure` cookie; RFC 6265 allows it.
        guard isSecureOrigin || !cookie.isSecure, prefixAllows(cookie) else { return nil }
        // As in browsers, a domain with a trailing dot matches only hosts with a trailing dot, and a domain without a
        // trailing dot only hosts without one.
        var domain = cookie.domain.map(CanonicalHost.identity)
        // An IP address or a public suffix must be the host itself: an address has no parent domain, and a suffix is
        // the parent of unrelated hosts.
        if let named = domain, isAddress(named) || PublicSuffixes.contains(CanonicalHost.text(of: named)) {
            guard named == host else { return nil }  // step 5
            domain = nil
        }
        if let domain, !domainMatches(host, ".\(domain)") { return nil }  // step 6
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name, .value: cookie.value, .path: cookie.path ?? defaultPath(of: url),
            // To Foundation, a leading dot of the domain means that the cookie is not host-only.
            .domain: domain.map { ".\($0)" } ?? host,
        ]
        if cookie.isSecure { properties[.secure] = "TRUE" }
        if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        if let expiry = expiry(of: cookie, now: now) {
            properties[.expires] = expiry
        } else {
            properties[.discard] = "TRUE"
        }
        if let octets = cookie.octets { return OctetCookie(properties: properties, octets: octets) }
        return HTTPCookie(properties: properties)
    }

    /// The expiry of a cookie, `Max-Age` before `Expires`, at most 400 days from now; `nil` for the end of the session.
    static func expiry(of cookie: SetCookie, now: Date) -> Date? {
        let latest = now.addingTimeInterval(400 * 86_400)
        if let age = cookie.maximumAge { return age <= 0 ? .distantPast : min(now.addingTimeInterval(age), latest) }
        return cookie.expires.map { min($0, latest) }
    }

    /// The default path of a cookie: the folder of the request's path (§5.1.4).
    static func defaultPath(of url: URL) -> String {
        let path = requestPath(of: url)
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Whether a cookie has the attributes that the prefix `__Secure-` or `__Host-` of its name requires.
    ///
    /// The value of a cookie without a name must not begin with a prefix, since the value alone is sent (RFC 6265bis
    /// §5.7, step 22).
    static func prefixAllows(_ cookie: SetCookie) -> Bool {
        if cookie.name.isEmpty {
            let value = cookie.value.lowercased().utf8
            return !value.starts(with: "__secure-".utf8) && !value.starts(with: "__host-".utf8)
        }
        let name = cookie.name.lowercased().utf8
        if name.starts(with: "__secure-".utf8) { return cookie.isSecure }
        if name.starts(with: "__host-".utf8) { return cookie.isSecure && cookie.domain == nil && cookie.path == "/" }
        return true
    }

    /// Whether a cookie that came in clear text would hide a `Secure` cookie.
    static func overlays(_ cookie: HTTPCookie, _ present: HTTPCookie) -> Bool {
        guard present.isSecure, present.name == cookie.name else { return false }
        let new = CanonicalHost.identity(of: String(cookie.domain.drop { $0 == "." }))
        let old = CanonicalHost.identity(of: String(present.domain.drop { $0 == "." }))
        let areRelated = domainMatches(new, ".\(old)") || domainMatches(old, ".\(new)")
        return areRelated && pathMatches(cookie.path, present.path)
    }

    /// Whether the policy lets a response of this host set cookies for a request with this main document.
    static func allows(_ policy: HTTPCookie.AcceptPolicy, host: String, mainDocument: URL?) -> Bool {
        switch policy {
        case .never: return false
        case .always: return true
        case .onlyFromMainDocumentDomain:
            guard let main = mainDocument?.host.map(CanonicalHost.text) else { return true }
            return PublicSuffixes.site(of: main) == PublicSuffixes.site(of: CanonicalHost.text(of: host))
        @unknown default: return true
        }
    }

    // MARK: Sending (§5.4)

    /// The path of a URL as it is sent.
    static func requestPath(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        return path.isEmpty ? "/" : path
    }

    /// Whether a host matches a cookie's domain (§5.1.3): without a leading dot only the same host, else also
    /// subdomains, but never of an IP address.
    ///
    /// `host` is a `CanonicalHost.identity(of:)`; `domain` has any form. Compared byte by byte, like paths, since a
    /// Swift `Character` can contain a dot and a combining mark.
    package static func domainMatches(_ host: String, _ domain: String) -> Bool {
        guard domain.utf8.first == UInt8(ascii: ".") else { return host == CanonicalHost.identity(of: domain) }
        let domain = CanonicalHost.identity(of: String(domain.unicodeScalars.dropFirst())).utf8
        guard host.utf8.suffix(domain.count).elementsEqual(domain) else { return false }
        let rest = host.utf8.dropLast(domain.count)
        return rest.isEmpty || rest.last == UInt8(ascii: ".") && !isAddress(host)
    }

    /// Whether the cookie's path is the path itself or a folder above it (§5.1.4).
    package static func pathMatches(_ path: String, _ cookiePath: String) -> Bool {
        let (path, folder) = (path.utf8, cookiePath.utf8)
        guard path.starts(with: folder) else { return false }
        let slash = UInt8(ascii: "/")
        return path.count == folder.count || folder.last == slash || path.dropFirst(folder.count).first == slash
    }

    package static func isAddress(_ host: String) -> Bool {
        host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
    }
}
