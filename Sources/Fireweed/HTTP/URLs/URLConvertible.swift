// Types that convert to a URL or a request.

public import Foundation
public import FoundationNetworking

/// A type that can be made into a `URL`.
public protocol URLConvertible: Sendable {
    /// The URL; throws `AFError.invalidURL(url:)` when the value is not a URL.
    func asURL() throws -> URL
}

extension String: URLConvertible {
    /// The text as a URL; throws `AFError.invalidURL(url:)` when the text is not a URL.
    ///
    /// Characters that a URL may not contain are percent-encoded; an escape stays an escape.
    public func asURL() throws -> URL {
        guard let url = URL(string: self) else { throw AFError.invalidURL(url: self) }
        // If a character of a path or a query needs encoding, Foundation also encodes each `%` there; `URLReference`
        // keeps escapes.
        guard utf8.contains(UInt8(ascii: "%")), url.absoluteString != self else { return url }
        return URL(string: URLReference.encoded(self)) ?? url
    }
}

extension URL: URLConvertible {
    /// Itself.
    public func asURL() throws -> URL { self }
}

extension URLComponents: URLConvertible {
    /// The URL of these components; throws `AFError.invalidURL(url:)` when they do not form a URL.
    public func asURL() throws -> URL {
        guard let url else { throw AFError.invalidURL(url: self) }
        return url
    }
}

/// A type that can be made into a `URLRequest`.
public protocol URLRequestConvertible: Sendable {
    /// The request; throws an error with the reason when the request cannot be made.
    func asURLRequest() throws -> URLRequest
}

extension URLRequestConvertible {
    /// The request, or `nil` when it cannot be made.
    public var urlRequest: URLRequest? { try? asURLRequest() }
}

extension URLRequest: URLRequestConvertible {
    /// Itself.
    public func asURLRequest() throws -> URLRequest { self }
}

extension URLRequest {
    /// Makes a request of a URL, a method and header fields.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - method: the method.
    ///   - headers: the header fields; `nil`, the default, for none.
    /// - Throws: the errors of `url`, for instance `AFError.invalidURL(url:)`.
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
        self.init(url: try url.asURL())
        httpMethod = method.rawValue
        if let headers { self.headers = headers }
    }

    /// The method; `nil` without one.
    public var method: HTTPMethod? {
        get { httpMethod.map(HTTPMethod.init) }
        set { httpMethod = newValue?.rawValue }
    }

    /// Throws `AFError.urlRequestValidationFailed(reason:)` when a GET request has content.
    public func validate() throws {
        if method == .get, let body = httpBody, !body.isEmpty {
            throw AFError.urlRequestValidationFailed(reason: .bodyDataInGETRequest(body))
        }
    }
}
