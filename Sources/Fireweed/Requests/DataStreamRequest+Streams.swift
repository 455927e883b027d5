// Stream handlers.

public import Dispatch
public import Foundation

extension DataStreamRequest {
    /// Calls `stream` on `queue` with each piece as it came, then with the completion.
    @discardableResult
    public func responseStream(on queue: DispatchQueue = .main, stream: @escaping Handler<Data, Never>) -> Self {
        add(ClosureStreamSink(request: self, queue: queue, serialise: { .success($0) }, handler: stream))
    }

    /// Calls `stream` on `queue` with what the serialiser makes of each piece, then with the completion.
    @discardableResult
    public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer, on queue: DispatchQueue = .main,
        stream: @escaping Handler<Serializer.SerializedObject, AFError>
    ) -> Self {
        add(
            ClosureStreamSink(
                request: self, queue: queue,
                serialise: { data in
                    let result = serializer.result(of: data)
                    self.tellMonitors { monitor, _ in monitor.request(self, didParseStream: result) }
                    return result
                }, handler: stream))
    }

    /// Calls `stream` on `queue` with each piece as text, then with the completion; characters are never split.
    @discardableResult
    public func responseStreamString(on queue: DispatchQueue = .main, stream: @escaping Handler<String, Never>) -> Self
    {
        let text = StreamText()
        return add(
            ClosureStreamSink(request: self, queue: queue, serialise: { .success(text.append($0)) }, handler: stream))
    }

    /// Calls `stream` on `queue` with a value of each piece, then with the completion.
    @discardableResult
    public func responseStreamDecodable<T: Decodable & Sendable>(
        of type: T.Type = T.self, on queue: DispatchQueue = .main, using decoder: any DataDecoder = JSONDecoder(),
        preprocessor: any DataPreprocessor = PassthroughPreprocessor(), stream: @escaping Handler<T, AFError>
    ) -> Self {
        responseStream(
            using: DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: preprocessor), on: queue,
            stream: stream)
    }
}
