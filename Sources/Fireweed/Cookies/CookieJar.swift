// Cookies on their way out and in, through `HTTPCookieStorage`.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// The cookies of a session (RFC 6265 §5).
///
/// The storage is Foundation's, as configured; which cookies go where is decided here.
final class CookieJar: @unchecked Sendable {
    // SAFETY: the storage synchronises itself.
    private let storage: HTTPCookieStorage?

    init(storage: HTTPCookieStorage?) {
        self.storage = storage
    }

    /// The hop's fields, with a `Cookie` field when there are cookies for it and it has none of its own.
    func addingCookies(for hop: Hop, settings: SessionSettings) -> FieldBlock {
        guard settings.setsCookies, let storage, let cookies = storage.cookies, !cookies.isEmpty,
            !hop.fields.contains("Cookie")
        else { return hop.fields }
        let sent = cookies.filter { CookieRules.applies($0, to: hop.url) }
        guard !sent.isEmpty else { return hop.fields }
        let value = CookieRules.ordered(sent).map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
        guard FieldSyntax.isValue(value) else { return hop.fields }
        return FieldBlock(hop.fields.fields + [Field(name: "Cookie", value: value)])
    }

    /// Stores what a response sets, as the accept policy allows.
    func store(_ head: ResponseHead, for url: URL, settings: SessionSettings) {
        guard let storage, settings.cookieAcceptPolicy != .never else { return }
        for line in head.values(of: "Set-Cookie") {
            for cookie in HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": line], for: url)
            where CookieRules.maySet(cookie, from: url) {
                switch CookieRules.lifetime(in: line) {
                case .none: storage.setCookie(cookie)
                case .some(let seconds) where seconds <= 0: storage.deleteCookie(cookie)
                case .some(let seconds): storage.setCookie(cookie.expiring(in: seconds))
                }
            }
        }
    }
}

/// Which cookies go where (RFC 6265 §5.1.3, §5.1.4, §5.4).
enum CookieRules {
    /// True when the cookie is to be sent to this URL.
    static func applies(_ cookie: HTTPCookie, to url: URL) -> Bool {
        guard let host = url.host?.lowercased() else { return false }
        if let expiry = cookie.expiresDate, expiry <= Date() { return false }
        if cookie.isSecure && url.scheme?.lowercased() != "https" { return false }
        return domainMatches(host, cookie.domain) && pathMatches(url.path.isEmpty ? "/" : url.path, cookie.path)
    }

    /// True when a response from this URL may set the cookie: for its own host, or for a domain that it is in.
    static func maySet(_ cookie: HTTPCookie, from url: URL) -> Bool {
        guard let host = url.host?.lowercased() else { return false }
        if cookie.isSecure && url.scheme?.lowercased() != "https" { return false }
        let domain = cookie.domain.lowercased()
        // A domain of one label is a public suffix for certain; a list of all of them comes with its own issue.
        if domain.hasPrefix(".") && !domain.dropFirst().contains(".") && String(domain.dropFirst()) != host {
            return false
        }
        return domainMatches(host, domain)
    }

    /// Host-only without a leading dot, else the domain and everything below it; never below an address.
    static func domainMatches(_ host: String, _ domain: String) -> Bool {
        let domain = domain.lowercased()
        guard domain.hasPrefix(".") else { return host == domain }
        let bare = String(domain.dropFirst())
        return host == bare || (host.hasSuffix(domain) && !isAddress(host))
    }

    /// The path itself, or a folder above it.
    static func pathMatches(_ path: String, _ cookiePath: String) -> Bool {
        guard path != cookiePath else { return true }
        guard path.hasPrefix(cookiePath) else { return false }
        return cookiePath.hasSuffix("/") || path.dropFirst(cookiePath.count).hasPrefix("/")
    }

    /// `Max-Age` in seconds, which wins over `Expires` (RFC 6265 §5.3); Foundation on Linux does not read it.
    static func lifetime(in line: String) -> TimeInterval? {
        for attribute in line.split(separator: ";").dropFirst() {
            let halves = attribute.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard halves.count == 2, halves[0].lowercased() == "max-age", let seconds = Int(halves[1]) else { continue }
            return TimeInterval(seconds)
        }
        return nil
    }

    /// Longer paths first (RFC 6265 §5.4).
    static func ordered(_ cookies: [HTTPCookie]) -> [HTTPCookie] {
        cookies.sorted { ($0.path.count, $1.name) > ($1.path.count, $0.name) }
    }

    private static func isAddress(_ host: String) -> Bool {
        host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
    }
}

extension HTTPCookie {
    /// The same cookie with another end.
    fileprivate func expiring(in seconds: TimeInterval) -> HTTPCookie {
        var properties = self.properties ?? [:]
        properties[.expires] = Date().addingTimeInterval(min(seconds, 400 * 86400))
        properties[.discard] = nil
        return HTTPCookie(properties: properties) ?? self
    }
}
