// Static members for the built-in serialisers.

public import Foundation
public import FoundationNetworking

extension ResponseSerializer where Self == DataResponseSerializer {
    /// Gives the content as it is.
    public static var data: DataResponseSerializer { DataResponseSerializer() }

    /// A serialiser that gives the content as it is.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: changes the content before it is delivered; changes nothing by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    /// - Returns: the serialiser.
    public static func data(
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DataResponseSerializer {
        DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}

extension ResponseSerializer where Self == StringResponseSerializer {
    /// Gives the content as text.
    public static var string: StringResponseSerializer { StringResponseSerializer() }

    /// A serialiser that gives the content as text.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: changes the content before it is read as text; changes nothing by default.
    ///   - encoding: the encoding; `nil`, the default, takes the charset of the response, else UTF-8 for JSON, else
    ///     ISO-8859-1.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    /// - Returns: the serialiser.
    public static func string(
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) -> StringResponseSerializer {
        StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}

extension ResponseSerializer {
    /// A serialiser that decodes a value from the content.
    ///
    /// - Parameters:
    ///   - type: the type of the value; for an allowed empty response, it must be an ``EmptyResponse``.
    ///   - dataPreprocessor: changes the content before it is decoded; changes nothing by default.
    ///   - decoder: decodes the content; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    /// - Returns: the serialiser.
    @preconcurrency
    public static func decodable<T: Decodable & Sendable>(
        of type: T.Type,
        dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<T>.defaultDataPreprocessor,
        decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DecodableResponseSerializer<T>.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<T>.defaultEmptyRequestMethods
    ) -> DecodableResponseSerializer<T> where Self == DecodableResponseSerializer<T> {
        DecodableResponseSerializer<T>(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
    }
}

/// Gives the file of a download.
public struct URLResponseSerializer: DownloadResponseSerializerProtocol {
    /// Makes a serialiser.
    public init() {}

    /// The file; throws `.inputFileNil` when there is none.
    public func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> URL {
        if let error { throw error }
        guard let fileURL else { throw AFError.responseSerializationFailed(reason: .inputFileNil) }
        return fileURL
    }
}

extension DownloadResponseSerializerProtocol where Self == URLResponseSerializer {
    /// Gives the file of a download.
    public static var url: URLResponseSerializer { URLResponseSerializer() }
}
