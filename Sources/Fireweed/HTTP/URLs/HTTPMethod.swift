// The method of a request.

/// A request method (RFC 9110 §9); any token can be one.
///
/// Methods are compared with case, as the RFC says.
public struct HTTPMethod: RawRepresentable, Equatable, Hashable, Sendable {
    /// `CONNECT`, which opens a tunnel instead of sending a request: it fails with `URLError.badURL` before anything is
    /// sent.
    public static let connect = HTTPMethod(rawValue: "CONNECT")
    /// `DELETE`.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// `GET`.
    public static let get = HTTPMethod(rawValue: "GET")
    /// `HEAD`.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// `OPTIONS`.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// `PATCH` (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// `POST`.
    public static let post = HTTPMethod(rawValue: "POST")
    /// `PUT`.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// `QUERY`.
    public static let query = HTTPMethod(rawValue: "QUERY")
    /// `TRACE`.
    public static let trace = HTTPMethod(rawValue: "TRACE")

    /// Whether a method is one of the safe methods of RFC 9110 §9.2.1; false for every other, also for `QUERY`.
    static func isSafe(_ name: String) -> Bool {
        switch name {
        case "GET", "HEAD", "OPTIONS", "TRACE": true
        default: false
        }
    }

    /// The idempotent methods (RFC 9110 §9.2.2).
    static let idempotent: Set<HTTPMethod> = [.delete, .get, .head, .options, .put, .trace]

    /// The method as it is sent.
    public let rawValue: String

    /// Makes a method from a token, which is checked when the request is sent.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
