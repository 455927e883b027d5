// The state of a session, kept between runs.

import Fireweed
import Foundation

/// The cookies, credentials and header fields of a named session.
struct SavedSession: Codable, Equatable {
    /// A cookie, with a dot before its domain unless the cookie is host-only.
    struct Cookie: Codable, Equatable {
        var name: String
        var value: String
        var domain: String
        var path: String
        /// Seconds since 1970; `nil` for a session cookie, which is saved too.
        var expires: Double?
        var isSecure: Bool
        var isHTTPOnly: Bool
        /// Name and value as sent on the wire, if they are not UTF-8.
        var octets: Data?
    }

    /// Credentials, bound to one origin.
    struct Credentials: Codable, Equatable {
        var origin: String
        var type: String
        var secret: String
    }

    /// A header field of a command line, bound to one origin.
    struct KeptField: Codable, Equatable {
        var origin: String
        var name: String
        var value: String
    }

    var version = 1
    var cookies: [Cookie] = []
    var credentials: [Credentials] = []
    /// `nil` in files of earlier versions.
    var fields: [KeptField]?

    // MARK: Cookies

    func restoreCookies(in storage: HTTPCookieStorage?) {
        for cookie in storedCookies { storage?.setCookie(cookie) }
    }

    var storedCookies: [HTTPCookie] {
        cookies.compactMap { cookie in
            var properties: [HTTPCookiePropertyKey: Any] = [
                .name: cookie.name, .value: cookie.value, .domain: cookie.domain, .path: cookie.path,
            ]
            if cookie.isSecure { properties[.secure] = "TRUE" }
            if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
            properties[.expires] = cookie.expires.map(Date.init(timeIntervalSince1970:))
            return HTTPCookie.make(properties, octets: cookie.octets)
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

    /// Returns scheme, host and port of a URL (RFC 9110 §4.3.1), to which credentials are bound.
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
        // A saved `Authorization` field would be sent instead of the credentials, so it is removed.
        fields?.removeAll { $0.origin == origin && $0.name.isEqualIgnoringASCIICase("Authorization") }
        if fields?.isEmpty == true { fields = nil }
        credentials.append(
            Credentials(origin: origin, type: authentication.type.rawValue, secret: authentication.secret))
    }

    // MARK: Fields

    /// Returns the fields for a URL, in the order in which they were kept.
    func fields(for url: URL) -> [Field] {
        let origin = Self.origin(of: url)
        return (fields ?? []).filter { $0.origin == origin }.map { Field(name: $0.name, value: $0.value) }
    }

    /// Keeps the fields of a command line for the origin of its URL, replacing fields with the same names.
    ///
    /// `Content-*` and `If-*` describe one request and are left out; the pairs of `Cookie` become host-only cookies.
    mutating func keep(_ lines: [Field], for url: URL) {
        let origin = Self.origin(of: url)
        let kept = lines.filter { line in
            let name = line.name.lowercased()
            return !name.hasPrefix("content-") && !name.hasPrefix("if-") && name != "cookie"
        }
        let names = Set(kept.map { $0.name.lowercased() })
        let others = (fields ?? []).filter { $0.origin != origin || !names.contains($0.name.lowercased()) }
        let all = others + kept.map { KeptField(origin: origin, name: $0.name, value: $0.value) }
        fields = all.isEmpty ? nil : all
        for line in lines where line.name.lowercased() == "cookie" { keepCookies(of: line.value, for: url) }
    }

    private mutating func keepCookies(of text: String, for url: URL) {
        for pair in text.split(separator: ";") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard halves.count == 2, !halves[0].isEmpty, let host = url.host else { continue }
            let cookie = Cookie(
                name: halves[0], value: halves[1], domain: host.lowercased(), path: "/", isSecure: false,
                isHTTPOnly: false)
            cookies.removeAll { $0.key == cookie.key }
            cookies.append(cookie)
        }
    }
}

extension HTTPCookie {
    /// Whether the cookie is sent to a URL, judged by its end, host, path and scheme (RFC 6265 §5.4).
    func isMeant(for url: URL, at now: Date = Date()) -> Bool {
        guard let host = url.host?.lowercased(), expiresDate.map({ $0 > now }) ?? true else { return false }
        let domain = domain.lowercased()
        let isOfHost = domain.hasPrefix(".") ? ".\(host)".hasSuffix(domain) : host == domain
        return isOfHost && CookieRules.pathMatches(url.path, path) && (!isSecure || url.scheme == "https")
    }
}

// MARK: Concurrent runs

extension SavedSession.Cookie {
    /// The key of a cookie: a later cookie with the same key replaces this one (RFC 6265 §5.3).
    fileprivate var key: [String] { [domain, path, name] }
}

extension SavedSession {
    /// Returns this session, which other runs may have changed, with one run's changes from `old` to `new`.
    func merging(from old: SavedSession, to new: SavedSession) -> SavedSession {
        var merged = self
        merged.cookies = Self.merged(cookies, old.cookies, new.cookies) { $0.key }
        merged.cookies.sort { ($0.domain, $0.path, $0.name) < ($1.domain, $1.path, $1.name) }
        merged.credentials = Self.merged(credentials, old.credentials, new.credentials) { [$0.origin] }
        let all = Self.merged(fields ?? [], old.fields ?? [], new.fields ?? []) { [$0.origin, $0.name.lowercased()] }
        merged.fields = all.isEmpty ? nil : all
        return merged
    }

    /// Returns the present elements; for each key that differs between `old` and `new`, the elements of `new` instead.
    private static func merged<Element: Equatable>(
        _ present: [Element], _ old: [Element], _ new: [Element], key: (Element) -> [String]
    ) -> [Element] {
        let (before, after) = (Dictionary(grouping: old, by: key), Dictionary(grouping: new, by: key))
        func isChanged(_ element: Element) -> Bool { before[key(element)] != after[key(element)] }
        return present.filter { !isChanged($0) } + new.filter(isChanged)
    }
}
