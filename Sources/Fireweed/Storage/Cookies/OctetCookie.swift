// Cookies that are not text.

package import Foundation
package import FoundationNetworking

/// A cookie whose name or value is not UTF-8: the cookie is sent back octet by octet (RFC 6265 §5.4, step 3).
///
/// `name` and `value` show each octet as a character of ISO-8859-1.
final class OctetCookie: HTTPCookie, @unchecked Sendable {
    // SAFETY: `octets` is constant, like all properties of a cookie.
    /// Name, `=` and value.
    let octets: [UInt8]

    init?(properties: [HTTPCookiePropertyKey: Any], octets: [UInt8]) {
        self.octets = octets
        super.init(properties: properties)
    }
}

extension HTTPCookie {
    /// Name, `=` and value as they are sent, when they are not UTF-8; otherwise `nil`.
    package var wireOctets: Data? { (self as? OctetCookie).map { Data($0.octets) } }

    /// Makes a cookie from stored properties and, where they were stored, its `wireOctets`.
    package static func make(_ properties: [HTTPCookiePropertyKey: Any], octets: Data?) -> HTTPCookie? {
        if let octets { return OctetCookie(properties: properties, octets: Array(octets)) }
        return HTTPCookie(properties: properties)
    }
}
