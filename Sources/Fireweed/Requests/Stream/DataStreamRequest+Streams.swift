// Stream handlers.

public import Dispatch
public import Foundation

extension DataStreamRequest {
    /// Calls `stream` with each piece of the content as it came, then with the completion.
    ///
    /// As with Alamofire, `stream` also gets pieces of a response that the validators refuse. A retry calls `stream`
    /// with the content from its beginning again, and nothing marks where the new attempt begins. The sequences, such
    /// as `content()`, give only the content of one accepted response.
    ///
    /// - Parameters:
    ///   - queue: where `stream` is called; the main queue by default.
    ///   - stream: called with each event in order, one call at a time; the last event is the completion. An error that
    ///     it throws ends the request.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func responseStream(on queue: DispatchQueue = .main, stream: @escaping Handler<Data, Never>) -> Self {
        add(ClosureStreamSink(request: self, queue: queue, reader: .pieces, handler: stream))
    }

    /// Calls `stream` with the value that a serialiser makes of each piece, then with the completion.
    ///
    /// A piece for which the serialiser throws gives a failure. The stream continues after that, unless the request was
    /// made with `automaticallyCancelOnStreamError`. A retry calls `stream` with the content from its beginning again,
    /// as with `responseStream(on:stream:)`.
    ///
    /// - Parameters:
    ///   - serializer: makes the values, on the session's serialisation queue.
    ///   - queue: where `stream` is called; the main queue by default.
    ///   - stream: called with each event in order, one call at a time; the last event is the completion. An error that
    ///     it throws ends the request.
    /// - Returns: the request.
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

    /// Calls `stream` with each piece as text, then with the completion; characters are never split.
    ///
    /// Bytes that are not UTF-8 become U+FFFD. A retry calls `stream` with the content from its beginning again, as
    /// with `responseStream(on:stream:)`.
    ///
    /// - Parameters:
    ///   - queue: where `stream` is called; the main queue by default.
    ///   - stream: called with each event in order, one call at a time; the last event is the completion. An error that
    ///     it throws ends the request.
    /// - Returns: the request.
    @discardableResult
    @preconcurrency
    public func responseStreamString(on queue: DispatchQueue = .main, stream: @escaping Handler<String, Never>) -> Self
    {
        add(ClosureStreamSink(request: self, queue: queue, reader: .text(self), handler: stream))
    }

    /// Calls `stream` with a decoded value of each piece, then with the completion.
    ///
    /// The network decides where a piece ends, so this is for servers that flush after each value; `jsonLines` decodes
    /// one value from each line. A piece that cannot be decoded gives
    /// `AFError.responseSerializationFailed(reason: .decodingFailed(error:))`. The stream continues after that, unless
    /// the request was made with `automaticallyCancelOnStreamError`. A retry calls `stream` with the content from its
    /// beginning again, as with `responseStream(on:stream:)`.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - queue: where `stream` is called; the main queue by default.
    ///   - decoder: decodes one piece at a time, on the session's serialisation queue; a `JSONDecoder` by default.
    ///   - preprocessor: changes a piece before it is decoded; changes nothing by default.
    ///   - stream: called with each event in order, one call at a time; the last event is the completion. An error that
    ///     it throws ends the request.
    /// - Returns: the request.
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
    /// Returns an async sequence of the content as it comes, in pieces of any size.
    ///
    /// The sequence gets no content of a response that the validators refuse; such a request may be retried. After the
    /// first piece there is no retry: a failure then ends the sequence, and no retrier is asked.
    ///
    /// ```swift
    /// for try await data in session.streamRequest("https://example.com/file").validate().content() { use(data) }
    /// ```
    ///
    /// - Parameter shouldAutomaticallyCancel: whether the request is cancelled when an iterator is released before the
    ///   end; true by default.
    /// - Returns: a sequence that throws the request's error when the request fails.
    public func content(automaticallyCancelling shouldAutomaticallyCancel: Bool = true) -> Elements<Data> {
        elements(cancelling: shouldAutomaticallyCancel) {
            PieceReader(isQuick: true, onFailure: .none) { data, emit in emit(.success(data), data.count) }
        } convert: {
            .success($0)
        }
    }
}

extension PieceReader where Value == Data, Failure == Never {
    /// A reader that passes on the pieces as they came.
    static var pieces: Self {
        PieceReader(isQuick: true, onFailure: .none, read: { data, emit in emit(.success(data), data.count) })
    }
}

extension PieceReader where Value == String, Failure == Never {
    /// A reader that passes on the pieces as text, with whole characters.
    static func text(_ request: DataStreamRequest) -> Self {
        let text = QueueConfined(StreamText())
        let deliver: @Sendable (String) -> Void = { [weak request] value in
            request?.notifyMonitors(.parsing, as: DataStreamRequest.self) {
                $0.request($1, didParseStream: Result<String, AFError>.success(value))
            }
        }
        // `isQuick` is false, since bytes that are not UTF-8 take a hundred times as long to decode.
        return PieceReader(isQuick: false, onFailure: .none) { data, emit in
            let value = text.value.append(data)
            guard !value.isEmpty else { return }  // a part of one character
            deliver(value)
            emit(.success(value), data.count)
        } restart: {
            text.value = StreamText()
        } finish: { _, emit in
            guard let rest = text.value.finish() else { return }
            deliver(rest)
            emit(.success(rest), rest.utf8.count)
        }
    }
}

extension PieceReader where Failure == AFError {
    /// A reader that passes on the values that a serialiser makes from the pieces.
    static func serialising<Serializer: DataStreamSerializer>(
        _ serializer: Serializer, for request: DataStreamRequest
    ) -> Self where Serializer.SerializedObject == Value {
        PieceReader(isQuick: false, onFailure: request.automaticallyCancelOnStreamError ? .cancels : .none) {
            [weak request] data, emit in
            let result = serializer.result(of: data)
            request?.notifyMonitors(.parsing, as: DataStreamRequest.self) { $0.request($1, didParseStream: result) }
            emit(result, data.count)
        }
    }
}
