// Stream handlers.

public import Dispatch
public import Foundation

extension DataStreamRequest {
    /// Calls `stream` on `queue` with each piece as it came, then with the completion.
    @discardableResult
    @preconcurrency
    public func responseStream(on queue: DispatchQueue = .main, stream: @escaping Handler<Data, Never>) -> Self {
        add(ClosureStreamSink(request: self, queue: queue, reader: .pieces, handler: stream))
    }

    /// Calls `stream` on `queue` with what the serialiser makes of each piece, then with the completion.
    @discardableResult
    @preconcurrency
    public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer, on queue: DispatchQueue = .main,
        stream: @escaping Handler<Serializer.SerializedObject, AFError>
    ) -> Self {
        add(
            ClosureStreamSink(
                request: self, queue: queue, reader: .serialising(serializer, for: self), handler: stream))
    }

    /// Calls `stream` on `queue` with each piece as text, then with the completion; characters are never split.
    @discardableResult
    @preconcurrency
    public func responseStreamString(on queue: DispatchQueue = .main, stream: @escaping Handler<String, Never>) -> Self
    {
        add(ClosureStreamSink(request: self, queue: queue, reader: .text(self), handler: stream))
    }

    /// Calls `stream` on `queue` with a value of each piece, then with the completion.
    @discardableResult
    @preconcurrency
    public func responseStreamDecodable<T: Decodable & Sendable>(
        of type: T.Type = T.self, on queue: DispatchQueue = .main, using decoder: any DataDecoder = JSONDecoder(),
        preprocessor: any DataPreprocessor = PassthroughPreprocessor(), stream: @escaping Handler<T, AFError>
    ) -> Self {
        responseStream(
            using: DecodableStreamSerializer<T>(decoder: decoder, dataPreprocessor: preprocessor), on: queue,
            stream: stream)
    }
}

extension DataStreamRequest {
    /// The content as it comes, in pieces of any size.
    ///
    /// ```swift
    /// for try await data in session.streamRequest("https://example.com/file").validate().content() { use(data) }
    /// ```
    ///
    /// - Parameter shouldAutomaticallyCancel: whether the request is cancelled when an iterator goes before the end.
    public func content(automaticallyCancelling shouldAutomaticallyCancel: Bool = true) -> Elements<Data> {
        elements(cancelling: shouldAutomaticallyCancel) {
            PieceReader(isQuick: true, onFailure: .none) { data, emit in emit(.success(data), data.count) }
        } convert: {
            .success($0)
        }
    }
}

extension PieceReader where Value == Data, Failure == Never {
    /// Pieces as they came.
    static var pieces: Self {
        PieceReader(isQuick: true, onFailure: .none, read: { data, emit in emit(.success(data), data.count) })
    }
}

extension PieceReader where Value == String, Failure == Never {
    /// Pieces as text, with whole characters.
    static func text(_ request: DataStreamRequest) -> Self {
        let text = SerialBox(StreamText())
        let tell: @Sendable (String) -> Void = { [weak request] value in
            request?.tellMonitors(as: DataStreamRequest.self) {
                $0.request($1, didParseStream: Result<String, AFError>.success(value))
            }
        }
        // Not quick: bytes that are no text cost a hundred times as much as others.
        return PieceReader(isQuick: false, onFailure: .none) { data, emit in
            let value = text.value.append(data)
            guard !value.isEmpty else { return }  // a part of one character
            tell(value)
            emit(.success(value), data.count)
        } restart: {
            text.value = StreamText()
        } finish: { _, emit in
            guard let rest = text.value.finish() else { return }
            tell(rest)
            emit(.success(rest), rest.utf8.count)
        }
    }
}

extension PieceReader where Failure == AFError {
    /// What a serialiser makes of each piece.
    static func serialising<Serializer: DataStreamSerializer>(
        _ serializer: Serializer, for request: DataStreamRequest
    ) -> Self where Serializer.SerializedObject == Value {
        PieceReader(isQuick: false, onFailure: request.automaticallyCancelOnStreamError ? .cancels : .none) {
            [weak request] data, emit in
            let result = serializer.result(of: data)
            request?.tellMonitors(as: DataStreamRequest.self) { $0.request($1, didParseStream: result) }
            emit(result, data.count)
        }
    }
}
