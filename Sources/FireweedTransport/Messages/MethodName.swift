// Methods in metrics and traces.

/// A method by its name in OpenTelemetry's conventions, which know ten.
package struct MethodName: Sendable {
    /// The method as it is sent.
    package let original: String
    /// The method, or `_OTHER` where the conventions do not know it.
    package let known: String

    /// Those of RFC 9110 §9.3, `PATCH` (RFC 5789) and `QUERY`.
    private static let names: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]

    /// Looks a method up.
    package init(_ method: String) {
        original = method
        known = Self.names.contains(method) ? method : "_OTHER"
    }

    /// The method in the name of a span, which is `HTTP` for an unknown one.
    package var spanName: String { known == original ? known : "HTTP" }
}

extension ResponseHead {
    /// The version in OpenTelemetry's form, as `1.1` and `2`; `nil` for a version of another protocol.
    ///
    /// A later minor version is that of a sender of 1.1 (RFC 9110 §2.5).
    package var protocolVersion: String? {
        switch version {
        case "HTTP/1.1": "1.1"
        case "HTTP/2", "HTTP/2.0": "2"
        case "HTTP/1.0": "1.0"
        case let version: version.hasPrefix("HTTP/1.") ? "1.1" : nil
        }
    }
}
