// Response handlers of data requests.

public import Dispatch
import FireweedTransport
public import Foundation
import FoundationNetworking
import Synchronization

extension DataRequest {
    /// Calls the handler with the content as it came, unserialised.
    @discardableResult
    @preconcurrency
    public func response(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDataResponse<Data?>) -> Void
    ) -> Self {
        add(HandlerSlot(queue: queue, make: { self.unserialised() }, handler: completionHandler))
    }

    /// Calls the handler with what the serialiser makes of the response.
    @discardableResult
    @preconcurrency
    public func response<Serializer: DataResponseSerializerProtocol>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        add(HandlerSlot(queue: queue, make: { self.serialised(by: responseSerializer) }, handler: completionHandler))
    }

    /// Calls the handler with the content.
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
        return add(HandlerSlot(queue: queue, make: { self.serialised(by: serializer) }, handler: completionHandler))
    }

    /// Calls the handler with the content as text.
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
        return add(HandlerSlot(queue: queue, make: { self.serialised(by: serializer) }, handler: completionHandler))
    }

    /// Calls the handler with a decoded value.
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
        return add(HandlerSlot(queue: queue, make: { self.serialised(by: serializer) }, handler: completionHandler))
    }

    /// Calls the handler with the objects that `JSONSerialization` makes; prefer `responseDecodable`.
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
            evidence: evidence, data: data, serializationDuration: 0,
            result: error.map(Result.failure) ?? .success(data))
        tellMonitors { monitor, _ in monitor.request(self, didParseResponse: response) }
        return (response, nil)
    }

    /// By one of the library's serialisers, which make no `URLRequest` and no `HTTPURLResponse`.
    @specialized(where Serializer == DataResponseSerializer)
    func serialised<Serializer: EvidenceSerializing>(
        by serializer: Serializer
    ) -> (AFDataResponse<Serializer.SerializedObject>, AFError?) {
        serialised { try serializer.serialize(evidence: $0, data: $1, error: $2) }
    }

    func serialised<Serializer: DataResponseSerializerProtocol>(
        by serializer: Serializer
    ) -> (AFDataResponse<Serializer.SerializedObject>, AFError?) {
        serialised { try serializer.serialize(request: $0.request, response: $0.response, data: $1, error: $2) }
    }

    private func serialised<Value: Sendable>(
        _ serialise: (any ResponseEvidence, Data?, AFError?) throws -> Value
    ) -> (AFDataResponse<Value>, AFError?) {
        let evidence = evidence
        let data = data
        let (result, seconds) = measured { try serialise(evidence, data, error) }
        let response = AFDataResponse<Value>(
            evidence: evidence, data: data, serializationDuration: seconds, result: result)
        tellMonitors { monitor, _ in monitor.request(self, didParseResponse: response) }
        return (response, response.error)
    }
}
