// The content of a file of cookies.

package import Foundation
package import FoundationNetworking
import JSONTape

/// Cookies as JSON, and back; pure.
package enum CookieFileContent {
    /// A cookie in the file; its domain has a leading dot unless the cookie is host-only.
    private struct Entry: Codable {
        var name: String
        var value: String
        var domain: String
        var path: String
        var expires: Date?
        var isSecure: Bool
        var isHTTPOnly: Bool
        /// Name and value as they are sent, when they are not UTF-8.
        var octets: Data?
    }

    /// Reads cookies.
    ///
    /// - Parameters:
    ///   - data: the content of a file.
    ///   - now: the time by which cookies expire.
    ///   - keepsSessionCookies: whether cookies without an expiry are returned too.
    /// - Returns: the cookies that have not expired.
    /// - Throws: `DecodingError` when the bytes are something else.
    package static func cookies(in data: Data, now: Date, keepsSessionCookies: Bool) throws -> [HTTPCookie] {
        try JSONDecoder().decodeWithoutTrap([Entry].self, from: data).compactMap { entry in
            guard entry.expires.map({ $0 > now }) ?? keepsSessionCookies else { return nil }
            return cookie(of: entry)
        }
    }

    private static func cookie(of entry: Entry) -> HTTPCookie? {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: entry.name, .value: entry.value, .domain: entry.domain, .path: entry.path,
        ]
        if entry.isSecure { properties[.secure] = "TRUE" }
        if entry.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        if let expires = entry.expires { properties[.expires] = expires } else { properties[.discard] = "TRUE" }
        return .make(properties, octets: entry.octets)
    }

    /// Writes cookies.
    ///
    /// - Parameters:
    ///   - cookies: the cookies, in any order.
    ///   - now: the time by which cookies expire.
    ///   - keepsSessionCookies: whether cookies without an expiry are kept.
    /// - Returns: the content of a file with the cookies that are kept.
    /// - Throws: `EncodingError` when a cookie cannot be written.
    package static func data(of cookies: [HTTPCookie], now: Date, keepsSessionCookies: Bool) throws -> Data {
        let entries = cookies.compactMap { cookie -> Entry? in
            guard cookie.expiresDate.map({ $0 > now }) ?? keepsSessionCookies else { return nil }
            return Entry(
                name: cookie.name, value: cookie.value, domain: cookie.domain, path: cookie.path,
                expires: cookie.expiresDate, isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly,
                octets: cookie.wireOctets)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(entries.sorted { ($0.domain, $0.path, $0.name) < ($1.domain, $1.path, $1.name) })
    }
}
