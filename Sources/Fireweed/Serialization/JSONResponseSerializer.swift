// JSON as Foundation's objects, for code that has not moved to `Decodable`.

public import Foundation
public import FoundationNetworking

/// Gives the content as the objects that `JSONSerialization` makes; `NSNull` for an allowed empty response.
public final class JSONResponseSerializer: ResponseSerializer {
    /// JSON's objects: dictionaries, arrays, strings, numbers and `NSNull`, which nobody changes.
    public struct Object: @unchecked Sendable {
        // SAFETY: `JSONSerialization` without `.mutableContainers` makes values that are never changed.
        /// The object.
        public let value: Any
    }

    /// Changes the content before it is serialised.
    public let dataPreprocessor: any DataPreprocessor
    /// Methods whose responses may be empty.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// Statuses whose responses may be empty.
    public let emptyResponseCodes: Set<Int>
    /// The options for reading.
    public let options: JSONSerialization.ReadingOptions

    /// Makes a serialiser.
    public init(
        dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .allowFragments
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
        self.options = options.subtracting([.mutableContainers, .mutableLeaves])
    }

    /// The object; throws `.jsonSerializationFailed(error:)` for content that is no JSON.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Object {
        if let error { throw error }
        guard let data, !data.isEmpty else {
            guard emptyResponseAllowed(forRequest: request, response: response) else {
                throw AFError.responseSerializationFailed(reason: .inputDataNilOrZeroLength)
            }
            return Object(value: NSNull())
        }
        let prepared = try dataPreprocessor.preprocess(data)
        do {
            return Object(value: try JSONSerialization.jsonObject(with: prepared, options: options))
        } catch {
            throw AFError.responseSerializationFailed(reason: .jsonSerializationFailed(error: error))
        }
    }
}
