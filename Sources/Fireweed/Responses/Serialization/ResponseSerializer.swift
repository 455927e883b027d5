// Serialisers of responses.

import FireweedTransport
public import Foundation
public import FoundationNetworking

/// Makes a value from a response with its content in memory.
public protocol DataResponseSerializerProtocol<SerializedObject>: Sendable {
    /// The type of the values.
    associatedtype SerializedObject: Sendable

    /// Makes the value from a response in memory.
    ///
    /// Called on the session's serialisation queue, or on the task that awaits the response.
    ///
    /// - Parameters:
    ///   - request: the last message that was sent; `nil` when none could be made.
    ///   - response: the response's head; `nil` when none came.
    ///   - data: the content; `nil` when none came.
    ///   - error: why the request failed; `nil` after a success.
    /// - Returns: the value.
    /// - Throws: any error, which becomes the response's error: an ``AFError`` as it is, any other error in
    ///   `AFError.responseSerializationFailed(reason: .customSerializationFailed(error:))`. A serialiser that has no
    ///   use for `error` rethrows it.
    func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject
}

/// Makes a value from a response with its content in a file.
public protocol DownloadResponseSerializerProtocol<SerializedObject>: Sendable {
    /// The type of the values.
    associatedtype SerializedObject: Sendable

    /// Makes the value from a downloaded file.
    ///
    /// Called on the session's serialisation queue, or on the task that awaits the response.
    ///
    /// - Parameters:
    ///   - request: the last message that was sent; `nil` when none could be made.
    ///   - response: the response's head; `nil` when none came.
    ///   - fileURL: the file; `nil` when the download failed before there was one.
    ///   - error: why the request failed; `nil` after a success.
    /// - Returns: the value.
    /// - Throws: any error, which becomes the response's error: an ``AFError`` as it is, any other error in
    ///   `AFError.responseSerializationFailed(reason: .customSerializationFailed(error:))`. A serialiser that has no
    ///   use for `error` rethrows it.
    func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject
}

/// Makes a value from a response in memory or in a file, with rules for empty content.
public protocol ResponseSerializer<SerializedObject>: DataResponseSerializerProtocol, DownloadResponseSerializerProtocol
{
    /// Changes the content before it is serialised.
    var dataPreprocessor: any DataPreprocessor { get }
    /// Methods whose responses may be empty.
    var emptyRequestMethods: Set<HTTPMethod> { get }
    /// Statuses whose responses may be empty.
    var emptyResponseCodes: Set<Int> { get }
}

extension ResponseSerializer {
    /// Changes nothing.
    public static var defaultDataPreprocessor: any DataPreprocessor { PassthroughPreprocessor() }
    /// `HEAD`.
    public static var defaultEmptyRequestMethods: Set<HTTPMethod> { EmptyResponseRules.methods }
    /// 204 and 205.
    public static var defaultEmptyResponseCodes: Set<Int> { EmptyResponseRules.statuses }

    /// Changes nothing.
    public var dataPreprocessor: any DataPreprocessor { Self.defaultDataPreprocessor }
    /// `HEAD`.
    public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }
    /// 204 and 205.
    public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

    /// Whether the request's method allows an empty response; `nil` without a request.
    public func requestAllowsEmptyResponseData(_ request: URLRequest?) -> Bool? {
        request.flatMap(\.httpMethod).map { emptyRequestMethods.contains(HTTPMethod(rawValue: $0)) }
    }

    /// Whether the response's status allows an empty response; `nil` without a response.
    public func responseAllowsEmptyResponseData(_ response: HTTPURLResponse?) -> Bool? {
        response.map { emptyResponseCodes.contains($0.statusCode) }
    }

    /// Whether the method of the request or the status of the response allows a response without content.
    public func emptyResponseAllowed(forRequest request: URLRequest?, response: HTTPURLResponse?) -> Bool {
        requestAllowsEmptyResponseData(request) == true || responseAllowsEmptyResponseData(response) == true
    }
}

extension DownloadResponseSerializerProtocol where Self: DataResponseSerializerProtocol {
    /// Reads the file and serialises its content.
    public func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject {
        if let error { throw error }
        guard let fileURL else { throw AFError.responseSerializationFailed(reason: .inputFileNil) }
        let data: Data
        do {
            data = try FileContent.read(fileURL)
        } catch {
            throw AFError.responseSerializationFailed(reason: .inputFileReadFailed(at: fileURL))
        }
        return try serialize(request: request, response: response, data: data, error: nil)
    }
}

/// The documented defaults, made once: making a set costs more than serialising a small response.
private enum EmptyResponseRules {
    static let methods: Set<HTTPMethod> = [.head]
    static let statuses: Set<Int> = [204, 205]
}

/// A serialiser of the library: it reads from the context only what it needs, so that no `HTTPURLResponse` is made.
protocol ContextSerializing: ResponseSerializer {
    func value(of data: Data, context: any ResponseContext) throws -> SerializedObject
    /// The value of an allowed empty response.
    func emptyValue() throws -> SerializedObject
}

extension ContextSerializing {
    func serialize(context: any ResponseContext, data: Data?, error: (any Error)?) throws -> SerializedObject {
        if let error { throw error }
        guard let data, !data.isEmpty else {
            let isAllowed =
                context.requestMethod.map { emptyRequestMethods.contains(HTTPMethod(rawValue: $0)) } == true
                || context.statusCode.map(emptyResponseCodes.contains) == true
            guard isAllowed else { throw AFError.responseSerializationFailed(reason: .inputDataNilOrZeroLength) }
            return try emptyValue()
        }
        return try value(of: data, context: context)
    }

    /// The content after the preprocessor; a `PassthroughPreprocessor` is not called.
    func preprocessed(_ data: Data) throws -> Data {
        // The types are compared, since `is` takes ten times as long.
        type(of: dataPreprocessor) == PassthroughPreprocessor.self ? data : try dataPreprocessor.preprocess(data)
    }
}

/// A value for responses without content.
public protocol EmptyResponse: Sendable {
    /// The value.
    static func emptyValue() -> Self
}

/// The type of a response that has no content.
public struct Empty: Codable, Sendable, Hashable, EmptyResponse {
    /// The only value.
    public static let value = Empty()
    /// The only value.
    public static func emptyValue() -> Empty { value }
}

/// Decodes values from data, as `JSONDecoder` and `PropertyListDecoder` do.
public protocol DataDecoder: Sendable {
    /// Decodes a value from the data; throws when the data cannot be read.
    func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D
}

extension JSONDecoder: DataDecoder {}
extension PropertyListDecoder: DataDecoder {}

/// Changes content before it is serialised.
public protocol DataPreprocessor: Sendable {
    /// The changed content.
    func preprocess(_ data: Data) throws -> Data
}

/// Changes nothing.
public struct PassthroughPreprocessor: DataPreprocessor {
    /// Makes a preprocessor.
    public init() {}
    /// The same data.
    public func preprocess(_ data: Data) throws -> Data { data }
}

/// Drops the prefix `)]}',` and a line break, which guards JSON against inclusion as a script.
public struct GoogleXSSIPreprocessor: DataPreprocessor {
    private static let prefix = Data(")]}',\n".utf8)

    /// Makes a preprocessor.
    public init() {}
    /// The data without the prefix.
    public func preprocess(_ data: Data) throws -> Data {
        data.starts(with: Self.prefix) ? Data(data.dropFirst(Self.prefix.count)) : data
    }
}

extension DataPreprocessor where Self == PassthroughPreprocessor {
    /// Changes nothing.
    public static var passthrough: PassthroughPreprocessor { PassthroughPreprocessor() }
}

extension DataPreprocessor where Self == GoogleXSSIPreprocessor {
    /// Drops the prefix that guards JSON against inclusion as a script.
    public static var googleXSSI: GoogleXSSIPreprocessor { GoogleXSSIPreprocessor() }
}
