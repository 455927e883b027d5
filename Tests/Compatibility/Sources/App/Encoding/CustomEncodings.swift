import Alamofire
import Foundation

/// A string as it is.
public struct RawEncoding: ParameterEncoding {
    public static let text = RawEncoding(type: "text/plain")

    let type: String

    public func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        var request = try urlRequest.asURLRequest()
        guard let text = parameters?["text"] as? String else {
            throw AFError.parameterEncodingFailed(reason: .customEncodingFailed(error: URLError(.cannotParseResponse)))
        }
        request.httpBody = Data(text.utf8)
        request.headers.update(.contentType(type))
        return request
    }
}

/// An array as the root, which dictionaries cannot be.
public struct ArrayEncoding: ParameterEncoding {
    private let array: [any Sendable]

    public init(_ array: [any Sendable]) {
        self.array = array
    }

    public func encode(_ urlRequest: URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
        try JSONEncoding.default.encode(urlRequest, withJSONObject: array)
    }
}

public final class PropertyListEncoderOfOurs: ParameterEncoder {
    public init() {}

    public func encode<Parameters: Encodable & Sendable>(_ parameters: Parameters?, into request: URLRequest) throws
        -> URLRequest
    {
        guard let parameters else { return request }
        var request = request
        do {
            request.httpBody = try PropertyListEncoder().encode(parameters)
        } catch {
            throw AFError.parameterEncoderFailed(reason: .encoderFailed(error: error))
        }
        if request.headers["Content-Type"] == nil {
            request.headers.update(.contentType("application/x-plist"))
        }
        return request
    }
}

extension ParameterEncoder where Self == PropertyListEncoderOfOurs {
    public static var propertyList: PropertyListEncoderOfOurs { PropertyListEncoderOfOurs() }
}

extension Dictionary where Key == String, Value == any Sendable {
    func query(for url: URL) throws -> URL? {
        try URLEncoding(destination: .queryString).encode(URLRequest(url: url), with: self).url
    }
}
