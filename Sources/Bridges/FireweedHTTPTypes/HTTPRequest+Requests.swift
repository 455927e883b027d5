// Requests of swift-http-types as requests of a session.

#if HTTPTypes
public import Fireweed
package import Foundation
public import FoundationNetworking
public import HTTPTypes

/// Lets each method of a session that takes a `URLRequestConvertible` take a request of swift-http-types.
///
/// ```swift
/// let request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/users?page=2")
/// let users = try await session.request(request).serializingDecodable([User].self).value
/// ```
///
/// Field names keep their case. Fields of one name are sent as one field, whose values are joined by a comma, those of
/// `Cookie` by a semicolon (RFC 9110 §5.3, RFC 9113 §8.2.3). A value that is not UTF-8 is read as ISO-8859-1.
extension HTTPRequest: URLRequestConvertible {
    /// The request as Foundation's `URLRequest`, which capitalises the names of fields.
    ///
    /// - Throws: `AFError.invalidURL(url:)` without scheme or authority, for an authority with more than host and port,
    ///   for a path that does not begin with `/`, and for an extended `CONNECT` (RFC 8441).
    public func asURLRequest() throws -> URLRequest { try madeURLRequest() }
}

extension HTTPRequest: PlainRequestConvertible {
    package func parts() throws -> (url: URL, method: HTTPMethod, headers: HTTPHeaders) {
        let path = path ?? "/"
        let text = "\(scheme ?? "")://\(authority ?? "")\(path)"
        guard let scheme, !scheme.isEmpty, let authority, !authority.isEmpty, path.hasPrefix("/"),
            !(scheme + authority).contains(where: "/?#@\\".contains), extendedConnectProtocol == nil,
            let url = URL(string: text)
        else { throw AFError.invalidURL(url: text) }
        return (url, HTTPMethod(method), HTTPHeaders(headerFields))
    }
}

extension HTTPRequest {
    /// Makes a request from Foundation's `URLRequest`, without the content.
    ///
    /// The fields that a session adds are not included, and values keep their UTF-8. `nil` if the URL has no scheme or
    /// no host, or if the method or a field is not valid in RFC 9110.
    ///
    /// - Parameter request: Foundation's request.
    public init?(_ request: URLRequest) {
        guard let url = request.url, let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme, let host = parts.percentEncodedHost, !host.isEmpty,
            let method = HTTPRequest.Method(request.httpMethod ?? "GET"), let fields = HTTPFields(request.headers)
        else { return nil }
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        self.init(
            method: method, scheme: scheme, authority: host + (parts.port.map { ":\($0)" } ?? ""),
            path: path + (parts.percentEncodedQuery.map { "?\($0)" } ?? ""), headerFields: fields)
    }
}

extension HTTPMethod {
    /// Makes a method from a method of swift-http-types.
    public init(_ method: HTTPRequest.Method) {
        self.init(rawValue: method.rawValue)
    }
}

extension HTTPRequest.Method {
    /// Makes a method from a session's `HTTPMethod`; `nil` if it is not a token (RFC 9110 §9.1).
    public init?(_ method: HTTPMethod) {
        self.init(method.rawValue)
    }
}
#endif
