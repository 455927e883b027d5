// The arguments of a session's methods, as requests.

package import Foundation
package import FoundationNetworking

/// URL, method, parameters and fields, as the caller gave them.
final class EncodedRequest: URLRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let headers: HTTPHeaders?
    /// Encodes the parameters into a request; `nil` when there are none.
    let encode: (@Sendable (URLRequest) throws -> URLRequest)?
    let modify: Session.RequestModifier?

    init(
        url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders?,
        encode: (@Sendable (URLRequest) throws -> URLRequest)?, modify: Session.RequestModifier?
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.encode = encode
        self.modify = modify
    }

    /// Returns a closure that encodes a dictionary into a request.
    ///
    /// Without a dictionary it is `nil` for the library's own encodings, which change nothing then; others may have
    /// content of their own.
    static func encoding(
        _ parameters: Parameters?, by encoding: any ParameterEncoding
    ) -> (@Sendable (URLRequest) throws -> URLRequest)? {
        if parameters == nil, encoding is URLEncoding || encoding is JSONEncoding { return nil }
        return { try encoding.encode($0, with: parameters) }
    }

    /// Returns a closure that encodes an `Encodable` value into a request; `nil` without a value.
    static func encoding<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, by encoder: any ParameterEncoder
    ) -> (@Sendable (URLRequest) throws -> URLRequest)? {
        guard let parameters else { return nil }
        return { try encoder.encode(parameters, into: $0) }
    }

    func asURLRequest() throws -> URLRequest {
        var request = try URLRequest(url: url, method: method, headers: headers)
        try modify?(&request)
        return try encode?(request) ?? request
    }
}

/// A request that gives its parts without a `URLRequest`, since a `URLRequest` would change the case of field names.
package protocol PlainRequestConvertible: URLRequestConvertible {
    /// The URL, the method and the fields; throws as `asURLRequest()` does.
    func parts() throws -> (url: URL, method: HTTPMethod, headers: HTTPHeaders)
}

extension PlainRequestConvertible {
    /// Makes a `URLRequest` from the parts.
    package func madeURLRequest() throws -> URLRequest {
        let (url, method, headers) = try parts()
        return try URLRequest(url: url, method: method, headers: headers)
    }
}

extension RequestRecord {
    /// Makes the record of a request; makes a `URLRequest` only if code of the caller needs one.
    convenience init(_ convertible: any URLRequestConvertible) throws {
        if let plain = convertible as? EncodedRequest, plain.encode == nil, plain.modify == nil {
            self.init(url: try plain.url.asURL(), method: plain.method.rawValue, headers: plain.headers)
        } else if !(convertible is URLRequest), let plain = convertible as? any PlainRequestConvertible {
            let (url, method, headers) = try plain.parts()
            self.init(url: url, method: method.rawValue, headers: headers)
        } else {
            try self.init(convertible.asURLRequest())
        }
    }
}

/// A request with a form's content type.
struct FormRequest: URLRequestConvertible {
    let request: any URLRequestConvertible
    let form: UploadedForm

    func asURLRequest() throws -> URLRequest {
        var request = try request.asURLRequest()
        request.headers.add(.contentType(form.form.sentContentType))
        return request
    }
}
