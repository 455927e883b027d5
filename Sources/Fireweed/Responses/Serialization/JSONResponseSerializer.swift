// Serialiser of JSON to Foundation's objects, for code without `Decodable`.

public import Foundation
public import FoundationNetworking

/// Returns the objects that `JSONSerialization` makes from the content; `NSNull` for an allowed empty response.
public final class JSONResponseSerializer: ResponseSerializer {
    /// Any JSON value: associated types of serialisers are `Sendable`, and `Any` is not.
    ///
    /// Casts work as on `Any`: `value as? [String: Any]`. Completion handlers, and the `serialize` that returns `Any`,
    /// have `Any` itself.
    public typealias SerializedObject = any Sendable

    /// Changes the content before it is serialised.
    public let dataPreprocessor: any DataPreprocessor
    /// Methods whose responses may be empty.
    public let emptyRequestMethods: Set<HTTPMethod>
    /// Statuses whose responses may be empty.
    public let emptyResponseCodes: Set<Int>
    /// The options for reading.
    ///
    /// With `.mutableContainers` the value is an `NSMutableDictionary` or `NSMutableArray`, for one thread at a time.
    public let options: JSONSerialization.ReadingOptions

    /// Makes a serialiser.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: changes the content before it is read; changes nothing by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    ///   - options: how `JSONSerialization` reads; fragments are allowed by default.
    public init(
        dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .allowFragments
    ) {
        self.dataPreprocessor = dataPreprocessor
        self.emptyResponseCodes = emptyResponseCodes
        self.emptyRequestMethods = emptyRequestMethods
        self.options = options
    }

    /// Returns the object of the other `serialize` as a `Sendable` value, for code that is generic over serialisers.
    @_disfavoredOverload
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> any Sendable {
        let object: Any = try serialize(request: request, response: response, data: data, error: error)
        // SAFETY: `Sendable` has no representation. `JSONSerialization` makes values that never change, and with
        // `.mutableContainers` objects without another reference: they are handed over with the response. `as Any`
        // keeps the existential closed: the cast is from `Any`, not from the value inside.
        return unsafeBitCast(object as Any, to: (any Sendable).self)
    }

    /// Returns the JSON value: a dictionary, an array, a `String`, an `NSNumber` or an `NSNull`.
    ///
    /// - Throws: `error`, or `.jsonSerializationFailed(error:)` for content that is not JSON.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Any {
        if let error { throw error }
        guard let data, !data.isEmpty else {
            guard emptyResponseAllowed(forRequest: request, response: response) else {
                throw AFError.responseSerializationFailed(reason: .inputDataNilOrZeroLength)
            }
            return NSNull()
        }
        let prepared = try dataPreprocessor.preprocess(data)
        do {
            return try JSONSerialization.jsonObject(with: prepared, options: options)
        } catch {
            throw AFError.responseSerializationFailed(reason: .jsonSerializationFailed(error: error))
        }
    }
}
