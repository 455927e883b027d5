// JSON as Foundation's objects, with the type `Any` that code for Alamofire expects.
//
// This target is compiled in Swift 5 mode only for this class: the associated types of serialisers are `Sendable`, and
// `Any` is not. This class hides Fireweed's class of the same name, which returns the same objects as `any Sendable`.

public import Fireweed
public import Foundation
public import FoundationNetworking

/// Returns the objects that `JSONSerialization` makes from the content; `NSNull` for an allowed empty response.
public final class JSONResponseSerializer: ResponseSerializer {
    /// Any JSON value: a dictionary, an array, a `String`, an `NSNumber` or an `NSNull`.
    public typealias SerializedObject = Any

    // SAFETY: `Any` goes to the handler or the awaiting task as a `Sendable` value would. `JSONSerialization` makes
    // values that never change, and with `.mutableContainers` objects without another reference.
    private let serializer: Fireweed.JSONResponseSerializer

    /// Changes the content before it is read.
    public var dataPreprocessor: any DataPreprocessor { serializer.dataPreprocessor }
    /// Methods whose responses may be empty.
    public var emptyRequestMethods: Set<HTTPMethod> { serializer.emptyRequestMethods }
    /// Statuses whose responses may be empty.
    public var emptyResponseCodes: Set<Int> { serializer.emptyResponseCodes }
    /// The options for reading.
    ///
    /// With `.mutableContainers` the value is an `NSMutableDictionary` or `NSMutableArray`, for one thread at a time.
    public var options: JSONSerialization.ReadingOptions { serializer.options }

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
        serializer = Fireweed.JSONResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options)
    }

    /// Returns the JSON value: a dictionary, an array, a `String`, an `NSNumber` or an `NSNull`.
    ///
    /// - Throws: `error`, or `.jsonSerializationFailed(error:)` for content that is not JSON.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Any {
        let object: Any = try serializer.serialize(request: request, response: response, data: data, error: error)
        return object
    }
}
