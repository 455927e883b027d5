// A stream's content as async sequences.

public import Foundation

/// The content of a ``DataStreamRequest`` as async sequences; a slow reader slows the transfer down.
///
/// Each iterator gets the content that comes after the iterator was made, then one completion. The first iterator
/// resumes the request, as a handler does. When the validators refuse a response, no sequence gets its content. After a
/// sequence has got content, a failure is not retried, since content is delivered only once. Serialisers run on the
/// session's serialisation queue, in the order of the content.
public struct DataStreamTask: Sendable {
    /// A sequence of events of a stream.
    public typealias Stream<Success: Sendable, Failure: Error> = StreamOf<DataStreamRequest.Stream<Success, Failure>>

    private let request: DataStreamRequest

    init(request: DataStreamRequest) {
        self.request = request
    }

    /// The content as `Data`, in the pieces in which the network delivered it.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator is released; true
    ///     by default.
    ///   - bufferingPolicy: how much is buffered for a slow reader. `.unbounded`, the default, loses nothing: reading
    ///     from the network pauses while about a megabyte is buffered. The other policies drop elements.
    /// - Returns: a sequence; each of its iterators gets all content that comes after the iterator was made.
    public func streamingData(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<Data, Never>.BufferingPolicy = .unbounded
    ) -> Stream<Data, Never> {
        stream(.pieces, shouldAutomaticallyCancel, bufferingPolicy)
    }

    /// The content as text; a character that is split between two pieces is delivered with the second piece.
    ///
    /// Bytes that are not UTF-8 become U+FFFD.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator is released; true
    ///     by default.
    ///   - bufferingPolicy: how much is buffered for a slow reader. `.unbounded`, the default, loses nothing: reading
    ///     from the network pauses while about a megabyte is buffered. The other policies drop elements.
    /// - Returns: a sequence of events: the pieces, then the completion.
    public func streamingStrings(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<String, Never>.BufferingPolicy = .unbounded
    ) -> Stream<String, Never> {
        stream(.text(request), shouldAutomaticallyCancel, bufferingPolicy)
    }

    /// Decodes one value from each piece of the content.
    ///
    /// A piece is the bytes of one read from the network: use this method for servers that flush after each value. Use
    /// `DataStreamRequest.jsonLines(of:decoder:automaticallyCancelling:maximumLineByteCount:)` for values on lines.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator is released; true
    ///     by default.
    ///   - bufferingPolicy: how much is buffered for a slow reader. `.unbounded`, the default, loses nothing: reading
    ///     from the network pauses while about a megabyte is buffered. The other policies drop elements.
    /// - Returns: a sequence of events: a value or a decoding error for each piece, then the completion.
    @preconcurrency
    public func streamingDecodables<T: Decodable & Sendable>(
        _ type: T.Type = T.self, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<T, AFError>.BufferingPolicy = .unbounded
    ) -> Stream<T, AFError> {
        streamingResponses(
            serializedUsing: DecodableStreamSerializer<T>(), automaticallyCancelling: shouldAutomaticallyCancel,
            bufferingPolicy: bufferingPolicy)
    }

    /// The value that a serialiser makes from each piece of the content.
    ///
    /// - Parameters:
    ///   - serializer: makes the values, on the session's serialisation queue, in the order of the content.
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator is released; true
    ///     by default.
    ///   - bufferingPolicy: how much is buffered for a slow reader. `.unbounded`, the default, loses nothing: reading
    ///     from the network pauses while about a megabyte is buffered. The other policies drop elements.
    /// - Returns: a sequence of events: a value or an error for each piece, then the completion.
    public func streamingResponses<Serializer: DataStreamSerializer>(
        serializedUsing serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<Serializer.SerializedObject, AFError>.BufferingPolicy = .unbounded
    ) -> Stream<Serializer.SerializedObject, AFError> {
        stream(.serialising(serializer, for: request), shouldAutomaticallyCancel, bufferingPolicy)
    }

    private func stream<Value: Sendable, Failure: Error>(
        _ reader: @autoclosure @escaping @Sendable () -> PieceReader<Value, Failure>,
        _ shouldAutomaticallyCancel: Bool, _ policy: Stream<Value, Failure>.BufferingPolicy
    ) -> Stream<Value, Failure> {
        Stream { [request] in
            let sink = SequenceStreamSink(request: request, limit: policy.bufferLimit, reader: reader())
            _ = request.add(sink as any StreamSink)
            return StreamSource {
                await sink.next()
            } onTermination: {
                sink.detach(cancelling: shouldAutomaticallyCancel)
            }
        }
    }

    /// Cancels the request.
    public func cancel() {
        request.cancel()
    }

    /// Suspends the request.
    public func suspend() {
        request.suspend()
    }

    /// Resumes the request.
    public func resume() {
        request.resume()
    }
}

extension DataStreamRequest {
    /// Returns the content as async sequences.
    public func streamTask() -> DataStreamTask {
        DataStreamTask(request: self)
    }
}
