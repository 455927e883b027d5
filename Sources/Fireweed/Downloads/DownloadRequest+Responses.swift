// Response handlers of downloads.

public import Dispatch
import FireweedTransport
public import Foundation
import FoundationNetworking

extension DownloadRequest {
    /// Calls the handler with the file of the content.
    @discardableResult
    @preconcurrency
    public func response(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDownloadResponse<URL?>) -> Void
    ) -> Self {
        add(HandlerSlot(queue: queue, make: { self.unserialised() }, handler: completionHandler))
    }

    /// Calls the handler with what the serialiser makes of the response.
    @discardableResult
    @preconcurrency
    public func response<Serializer: DownloadResponseSerializerProtocol>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Serializer.SerializedObject>) -> Void
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
        completionHandler: @escaping @Sendable (AFDownloadResponse<Data>) -> Void
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
        completionHandler: @escaping @Sendable (AFDownloadResponse<String>) -> Void
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
        completionHandler: @escaping @Sendable (AFDownloadResponse<Value>) -> Void
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
        completionHandler: @escaping @Sendable (AFDownloadResponse<Any>) -> Void
    ) -> Self {
        let serializer = JSONResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }

    /// Calls the handler with the file of the content.
    @discardableResult
    @preconcurrency
    public func responseURL(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDownloadResponse<URL>) -> Void
    ) -> Self {
        response(queue: queue, responseSerializer: URLResponseSerializer(), completionHandler: completionHandler)
    }
}

// MARK: - Making responses

extension DownloadRequest {
    func unserialised() -> (AFDownloadResponse<URL?>, AFError?) {
        let error = error
        let response = AFDownloadResponse<URL?>(
            evidence: evidence, file: receiver.file, produced: receiver.produced, serializationDuration: 0,
            result: error.map(Result.failure) ?? .success(fileURL))
        tellMonitors { monitor, _ in monitor.request(self, didParseResponse: response) }
        return (response, nil)
    }

    func serialised<Serializer: DownloadResponseSerializerProtocol>(
        by serializer: Serializer
    ) -> (AFDownloadResponse<Serializer.SerializedObject>, AFError?) {
        let evidence = evidence
        let file = receiver.file
        // A serialiser that gets the URL may keep it: the temporary file stays.
        if !(serializer is any ResponseSerializer) { file?.owner?.take() }
        let (result, seconds) = measured {
            try serializer.serializeDownload(
                request: evidence.request, response: evidence.response, fileURL: file?.url, error: error)
        }
        let response = AFDownloadResponse<Serializer.SerializedObject>(
            evidence: evidence, file: file, produced: receiver.produced,
            serializationDuration: seconds, result: result)
        tellMonitors { monitor, _ in monitor.request(self, didParseResponse: response) }
        return (response, response.error)
    }
}
