// Encoders of parameters that are `Encodable` values.

public import Foundation
public import FoundationNetworking

/// Encodes an `Encodable` value into a request.
public protocol ParameterEncoder: Sendable {
    /// Puts parameters into a request.
    ///
    /// - Parameters:
    ///   - parameters: the value; `nil` leaves the request as it is.
    ///   - request: the request, with its URL and method.
    /// - Returns: the request with the parameters.
    /// - Throws: `AFError.parameterEncoderFailed(reason:)` or `AFError.parameterEncodingFailed(reason:)`; another error
    ///   reaches the caller in `AFError.createURLRequestFailed(error:)`.
    @preconcurrency
    func encode<Parameters: Encodable & Sendable>(_ parameters: Parameters?, into request: URLRequest) throws
        -> URLRequest
}

/// Puts a value into the content as JSON.
open class JSONParameterEncoder: @unchecked Sendable, ParameterEncoder {
    // SAFETY: the stored property is a `let`; the `JSONEncoder` is only used to encode, which changes no state.

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
    /// Do not change the encoder after the first request.
    public let encoder: JSONEncoder

    /// Makes a parameter encoder from an encoder.
    public init(encoder: JSONEncoder = JSONEncoder()) {
        self.encoder = encoder
    }

    /// Puts a value into the content, with `Content-Type: application/json` unless the request has a type.
    ///
    /// - Parameters:
    ///   - parameters: the value; `nil` leaves the request as it is.
    ///   - request: the request.
    /// - Returns: the request with the content.
    /// - Throws: `AFError.parameterEncodingFailed(reason: .jsonEncodingFailed(error:))`.
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

    /// The default encoder; the destination depends on the method.
    public static var `default`: URLEncodedFormParameterEncoder { URLEncodedFormParameterEncoder() }

    /// The encoder of values.
    public let encoder: URLEncodedFormEncoder
    /// Where the parameters go.
    public let destination: Destination

    /// Makes a parameter encoder.
    ///
    /// - Parameters:
    ///   - encoder: encodes the value.
    ///   - destination: where the text goes; into the query for GET, HEAD and DELETE, else into the content, by
    ///     default.
    @preconcurrency
    public init(encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Destination = .methodDependent) {
        self.encoder = encoder
        self.destination = destination
    }

    /// Puts a value into the query or the content, as `destination` says.
    ///
    /// - Parameters:
    ///   - parameters: the value, which must have keys; `nil` leaves the request as it is.
    ///   - request: the request, which must have a URL and a method.
    /// - Returns: the request with the parameters.
    /// - Throws: `AFError.parameterEncoderFailed(reason:)`.
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

    /// JSON from the given encoder.
    public static func json(encoder: JSONEncoder = JSONEncoder()) -> JSONParameterEncoder {
        JSONParameterEncoder(encoder: encoder)
    }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    /// Form encoding; the destination depends on the method.
    public static var urlEncodedForm: URLEncodedFormParameterEncoder { .default }

    /// A form encoder.
    ///
    /// - Parameters:
    ///   - encoder: encodes the value.
    ///   - destination: where the text goes; into the query for GET, HEAD and DELETE, else into the content, by
    ///     default.
    /// - Returns: the encoder.
    @preconcurrency
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: URLEncodedFormParameterEncoder.Destination = .methodDependent
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}
