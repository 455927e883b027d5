// The names of methods in metrics and traces.

/// A method, and its name according to OpenTelemetry's conventions, which define ten methods.
package struct MethodName: Sendable {
    /// The method as sent.
    package let original: String
    /// The method, or `_OTHER` if the conventions do not define it.
    package let known: String

    /// The methods of RFC 9110 §9.3, `PATCH` (RFC 5789) and `QUERY`.
    private static let names: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]

    /// Makes the names for a method.
    package init(_ method: String) {
        original = method
        known = Self.names.contains(method) ? method : "_OTHER"
    }

    /// The method as part of a span's name; `HTTP` if the conventions do not define it.
    package var spanName: String { known == original ? known : "HTTP" }
}

extension ResponseHead {
    /// The version in OpenTelemetry's format, such as `1.1` or `2`; `nil` for other protocols.
    ///
    /// A minor version above 1 is treated as 1.1 (RFC 9110 §2.5).
    package var protocolVersion: String? {
        switch version {
        case "HTTP/1.1": "1.1"
        case "HTTP/2", "HTTP/2.0": "2"
        case "HTTP/1.0": "1.0"
        case let version: version.hasPrefix("HTTP/1.") ? "1.1" : nil
        }
    }
}
