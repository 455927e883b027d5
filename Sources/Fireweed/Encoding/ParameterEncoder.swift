// Parameters as `Encodable` values, and what puts them into a request.

public import Foundation
public import FoundationNetworking

/// Puts an `Encodable` value into a request.
public protocol ParameterEncoder: Sendable {
    /// The request with the parameters in it; throws `AFError.parameterEncoderFailed(reason:)` or
    /// `.parameterEncodingFailed(reason:)`.
    @preconcurrency
    func encode<Parameters: Encodable & Sendable>(_ parameters: Parameters?, into request: URLRequest) throws
        -> URLRequest
}

/// Puts a value into the content as JSON.
open class JSONParameterEncoder: @unchecked Sendable, ParameterEncoder {
    // SAFETY: the one stored property is a `let`; `JSONEncoder` is used for encoding only, which keeps no state.

    /// Compact JSON.
    public static var `default`: JSONParameterEncoder { JSONParameterEncoder() }

    /// JSON with line breaks and indentation.
    public static var prettyPrinted: JSONParameterEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .prettyPrinted
        return JSONParameterEncoder(encoder: encoder)
    }

    /// JSON with sorted keys.
    public static var sortedKeys: JSONParameterEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return JSONParameterEncoder(encoder: encoder)
    }

    /// The encoder of values.
    ///
    /// Not to be changed once requests are being made.
    public let encoder: JSONEncoder

    /// Makes a parameter encoder of an encoder.
    public init(encoder: JSONEncoder = JSONEncoder()) {
        self.encoder = encoder
    }

    /// The request with the value in its content, and `Content-Type: application/json` unless it has a type.
    open func encode<Parameters: Encodable>(
        _ parameters: Parameters?, into request: URLRequest
    ) throws -> URLRequest {
        guard let parameters else { return request }
        var request = request
        do {
            request.setContent(try encoder.encode(parameters), "application/json")
        } catch {
            throw AFError.parameterEncodingFailed(reason: .jsonEncodingFailed(error: error))
        }
        return request
    }
}

/// Puts a value into the query or, form-encoded, into the content.
open class URLEncodedFormParameterEncoder: @unchecked Sendable, ParameterEncoder {
    // SAFETY: both stored properties are `let`s, and the encoder's state is its configuration, which is constant.

    /// Where the parameters go.
    public enum Destination: Sendable {
        /// Into the query for GET, HEAD and DELETE, into the content otherwise.
        case methodDependent
        /// Into the query.
        case queryString
        /// Into the content.
        case httpBody

        func isQuery(for method: HTTPMethod) -> Bool {
            switch self {
            case .methodDependent: [.get, .head, .delete].contains(method)
            case .queryString: true
            case .httpBody: false
            }
        }
    }

    /// The default encoder, with a destination as the method says.
    public static var `default`: URLEncodedFormParameterEncoder { URLEncodedFormParameterEncoder() }

    /// The encoder of values.
    public let encoder: URLEncodedFormEncoder
    /// Where the parameters go.
    public let destination: Destination

    /// Makes a parameter encoder of an encoder and a destination.
    @preconcurrency
    public init(encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Destination = .methodDependent) {
        self.encoder = encoder
        self.destination = destination
    }

    /// The request with the value in it; throws `.parameterEncoderFailed(reason:)`.
    open func encode<Parameters: Encodable>(
        _ parameters: Parameters?, into request: URLRequest
    ) throws -> URLRequest {
        guard let parameters else { return request }
        guard request.url != nil else {
            throw AFError.parameterEncoderFailed(reason: .missingRequiredComponent(.url))
        }
        guard let method = request.method else {
            throw AFError.parameterEncoderFailed(reason: .missingRequiredComponent(.httpMethod(rawValue: "nil")))
        }
        var request = request
        let text: String
        do {
            text = try encoder.encode(parameters)
        } catch {
            throw AFError.parameterEncoderFailed(reason: .encoderFailed(error: error))
        }
        if destination.isQuery(for: method) {
            if !text.isEmpty { request.appendQuery(text) }
        } else {
            request.setFormContent(Data(text.utf8))
        }
        return request
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// Compact JSON.
    public static var json: JSONParameterEncoder { .default }

    /// JSON by an encoder.
    public static func json(encoder: JSONEncoder = JSONEncoder()) -> JSONParameterEncoder {
        JSONParameterEncoder(encoder: encoder)
    }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    /// Form encoding with a destination as the method says.
    public static var urlEncodedForm: URLEncodedFormParameterEncoder { .default }

    /// Form encoding by an encoder.
    @preconcurrency
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: URLEncodedFormParameterEncoder.Destination = .methodDependent
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}
