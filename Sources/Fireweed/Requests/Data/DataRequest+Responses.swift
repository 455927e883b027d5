// Response handlers of data requests.

public import Dispatch
import FireweedTransport
public import Foundation
import FoundationNetworking
import Synchronization

extension DataRequest {
    /// Calls the handler with the unchanged content, without a serialiser.
    ///
    /// The value is `nil` when the response has no content. The first handler resumes the request, unless automatic
    /// resuming was turned off.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; the main queue by default.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func response(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDataResponse<Data?>) -> Void
    ) -> Self {
        add(CompletionHandler(queue: queue, make: { self.unserialised() }, handler: completionHandler))
    }

    /// Calls the handler with the value that a serialiser makes from the response.
    ///
    /// The serialiser runs on the session's serialisation queue. An error that is not an ``AFError`` becomes
    /// `AFError.responseSerializationFailed(reason: .customSerializationFailed(error:))`.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; the main queue by default.
    ///   - responseSerializer: makes the value.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func response<Serializer: DataResponseSerializerProtocol>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        add(
            CompletionHandler(
                queue: queue, make: { self.serialised(by: responseSerializer) }, handler: completionHandler))
    }

    /// Calls the handler with the content.
    ///
    /// A failure is the request's error or `AFError.responseSerializationFailed(reason:)`: `.inputDataNilOrZeroLength`
    /// when the content is empty and this is not allowed.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; the main queue by default.
    ///   - dataPreprocessor: changes the content before it is delivered; changes nothing by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func responseData(
        queue: DispatchQueue = .main,
        dataPreprocessor: any DataPreprocessor = DataResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (AFDataResponse<Data>) -> Void
    ) -> Self {
        let serializer = DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return add(
            CompletionHandler(queue: queue, make: { self.serialised(by: serializer) }, handler: completionHandler))
    }

    /// Calls the handler with the content as text.
    ///
    /// A failure is the request's error or `AFError.responseSerializationFailed(reason:)`: `.inputDataNilOrZeroLength`
    /// when the content is empty and this is not allowed, `.stringSerializationFailed(encoding:)` when the bytes are
    /// not text in the encoding.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; the main queue by default.
    ///   - dataPreprocessor: changes the content before it is read as text; changes nothing by default.
    ///   - encoding: the encoding; `nil`, the default, takes the charset of the response, else UTF-8 for JSON, else
    ///     ISO-8859-1.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func responseString(
        queue: DispatchQueue = .main,
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (AFDataResponse<String>) -> Void
    ) -> Self {
        let serializer = StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return add(
            CompletionHandler(queue: queue, make: { self.serialised(by: serializer) }, handler: completionHandler))
    }

    /// Calls the handler with a value that is decoded from the content.
    ///
    /// The decoder runs on the session's serialisation queue. A failure is the request's error or
    /// `AFError.responseSerializationFailed(reason:)`: `.decodingFailed(error:)` when the content does not fit the
    /// type, `.inputDataNilOrZeroLength` when the content is empty and this is not allowed,
    /// `.invalidEmptyResponse(type:)` when the content is empty, this is allowed, and the type has no empty value.
    ///
    /// - Parameters:
    ///   - type: the type of the value; for an allowed empty response, it must be an ``EmptyResponse``.
    ///   - queue: where the handler is called; the main queue by default.
    ///   - dataPreprocessor: changes the content before it is decoded; changes nothing by default.
    ///   - decoder: decodes the content; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue = .main,
        dataPreprocessor: any DataPreprocessor = DecodableResponseSerializer<Value>.defaultDataPreprocessor,
        decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DecodableResponseSerializer<Value>.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DecodableResponseSerializer<Value>.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (AFDataResponse<Value>) -> Void
    ) -> Self {
        let serializer = DecodableResponseSerializer<Value>(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return add(
            CompletionHandler(queue: queue, make: { self.serialised(by: serializer) }, handler: completionHandler))
    }

    /// Calls the handler with the objects that `JSONSerialization` makes from the content; prefer `responseDecodable`.
    ///
    /// A failure is the request's error or `AFError.responseSerializationFailed(reason:)`:
    /// `.jsonSerializationFailed(error:)` when the content is not JSON, `.inputDataNilOrZeroLength` when the content is
    /// empty and this is not allowed. An allowed empty response gives `NSNull`.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; the main queue by default.
    ///   - dataPreprocessor: changes the content before it is read; changes nothing by default.
    ///   - emptyResponseCodes: statuses whose response may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: methods whose response may be empty; `HEAD` by default.
    ///   - options: how `JSONSerialization` reads; fragments are allowed by default.
    ///   - completionHandler: called once, when the request is finished; a cancelled request calls it too.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func responseJSON(
        queue: DispatchQueue = .main,
        dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .allowFragments,
        completionHandler: @escaping @Sendable (AFDataResponse<Any>) -> Void
    ) -> Self {
        let serializer = JSONResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
}

// MARK: - Making responses

extension DataRequest {
    func unserialised() -> (AFDataResponse<Data?>, AFError?) {
        let error = error
        let data = data
        let response = AFDataResponse<Data?>(
            context: responseContext, data: data, serializationDuration: 0,
            result: error.map(Result.failure) ?? .success(data))
        notifyMonitors(.parsing) { monitor, _ in monitor.request(self, didParseResponse: response) }
        return (response, nil)
    }

    /// Makes the response with one of the library's serialisers, which need no `URLRequest` and no `HTTPURLResponse`.
    @specialized(where Serializer == DataResponseSerializer)
    func serialised<Serializer: ContextSerializing>(
        by serializer: Serializer
    ) -> (AFDataResponse<Serializer.SerializedObject>, AFError?) {
        serialised { try serializer.serialize(context: $0, data: $1, error: $2) }
    }

    func serialised<Serializer: DataResponseSerializerProtocol>(
        by serializer: Serializer
    ) -> (AFDataResponse<Serializer.SerializedObject>, AFError?) {
        serialised { try serializer.serialize(request: $0.request, response: $0.response, data: $1, error: $2) }
    }

    private func serialised<Value: Sendable>(
        _ serialise: (any ResponseContext, Data?, AFError?) throws -> Value
    ) -> (AFDataResponse<Value>, AFError?) {
        let context = responseContext
        let data = data
        let (result, failure, seconds) = measured { try serialise(context, data, error) }
        let response = AFDataResponse<Value>(
            context: context, data: data, serializationDuration: seconds, result: result)
        notifyMonitors(.parsing) { monitor, _ in monitor.request(self, didParseResponse: response) }
        return (response, failure)
    }
}
