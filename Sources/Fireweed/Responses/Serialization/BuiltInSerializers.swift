// The serialisers that come with the library.

public import Foundation
public import FoundationNetworking

/// Returns the content as it is; empty `Data` for an allowed empty response.
public final class DataResponseSerializer: ContextSerializing {
    /// Changes the content before it is serialised.
    public let dataPreprocessor: any DataPreprocessor
    /// Methods whose responses may be empty.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// Statuses whose responses may be empty.
    public let emptyResponseCodes: Set<Int>

    /// Makes a serialiser.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: changes the content before it is delivered; changes nothing by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    public init(
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
    }

    /// The content; throws `error`, or `.inputDataNilOrZeroLength` for an empty response that is not allowed.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Data {
        try serialize(context: FixedResponseContext(request: request, response: response), data: data, error: error)
    }

    func value(of data: Data, context: any ResponseContext) throws -> Data {
        try preprocessed(data)
    }

    func emptyValue() -> Data { Data() }
}

/// Returns the content as text: in the given encoding, else the response's charset, else ISO-8859-1.
///
/// JSON without a charset is UTF-8 (RFC 8259 §8.1): `application/json`, and every type that ends in `+json`.
public final class StringResponseSerializer: ContextSerializing {
    /// Changes the content before it is serialised.
    public let dataPreprocessor: any DataPreprocessor
    /// Methods whose responses may be empty.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// Statuses whose responses may be empty.
    public let emptyResponseCodes: Set<Int>
    /// The encoding to use; `nil` takes the response's charset, else UTF-8 for JSON, else ISO-8859-1.
    public let encoding: String.Encoding?

    /// Makes a serialiser.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: changes the content before it is read as text; changes nothing by default.
    ///   - encoding: the encoding; `nil`, the default, takes the charset of the response, else UTF-8 for JSON, else
    ///     ISO-8859-1.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    public init(
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
        self.encoding = encoding
    }

    /// The text; throws `.stringSerializationFailed(encoding:)` for content that is not text in the encoding.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String {
        try serialize(context: FixedResponseContext(request: request, response: response), data: data, error: error)
    }

    func value(of data: Data, context: any ResponseContext) throws -> String {
        let data = try preprocessed(data)
        let type = encoding == nil ? context.responseField("Content-Type").flatMap(MIMEType.init) : nil
        let charset = type?.charset.flatMap(String.Encoding.init(charset:))
        // JSON without a known charset is UTF-8 (RFC 8259 §8.1); if it is not valid UTF-8, it is read as ISO-8859-1, as
        // in Alamofire.
        if let type, charset == nil, type.isJSON, let text = String(validating: data, as: UTF8.self) { return text }
        let encoding = encoding ?? charset ?? .isoLatin1
        guard let text = CharsetConverter.text(of: data, in: encoding) else {
            throw AFError.responseSerializationFailed(reason: .stringSerializationFailed(encoding: encoding))
        }
        return text
    }

    func emptyValue() -> String { "" }
}

/// Decodes a value from the content; for an allowed empty response `T` must be an ``EmptyResponse``.
public final class DecodableResponseSerializer<T: Decodable & Sendable>: ContextSerializing {
    /// Changes the content before it is serialised.
    public let dataPreprocessor: any DataPreprocessor
    /// Methods whose responses may be empty.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// Statuses whose responses may be empty.
    public let emptyResponseCodes: Set<Int>
    /// The decoder.
    public let decoder: any DataDecoder

    /// Makes a serialiser.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: changes the content before it is decoded; changes nothing by default.
    ///   - decoder: decodes the content; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    public init(
        dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer.defaultDataPreprocessor,
        decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DecodableResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer.defaultEmptyRequestMethods
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
        self.decoder = decoder
    }

    /// The value; throws `.decodingFailed(error:)` or `.invalidEmptyResponse(type:)`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> T {
        try serialize(context: FixedResponseContext(request: request, response: response), data: data, error: error)
    }

    func value(of data: Data, context: any ResponseContext) throws -> T {
        let data = try preprocessed(data)
        do {
            return try decoder.value(T.self, from: data)
        } catch {
            throw AFError.responseSerializationFailed(reason: .decodingFailed(error: error))
        }
    }

    func emptyValue() throws -> T {
        guard let type = T.self as? any EmptyResponse.Type, let value = type.emptyValue() as? T else {
            throw AFError.responseSerializationFailed(reason: .invalidEmptyResponse(type: "\(T.self)"))
        }
        return value
    }
}
