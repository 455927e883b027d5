// Cookies that are not text.

import Foundation
import FoundationNetworking

/// A cookie whose name or value is not UTF-8: it goes back to its origin octet by octet (RFC 6265 §5.4, step 3).
///
/// `name` and `value` show each octet as a character of ISO-8859-1.
final class OctetCookie: HTTPCookie, @unchecked Sendable {
    // SAFETY: constant, as everything in a cookie is.
    /// Name, `=` and value.
    let octets: [UInt8]

    init?(properties: [HTTPCookiePropertyKey: Any], octets: [UInt8]) {
        self.octets = octets
        super.init(properties: properties)
    }
}
