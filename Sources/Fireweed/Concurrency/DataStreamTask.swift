// A stream's content as async sequences.

public import Foundation

/// Gives the content of a `DataStreamRequest` as async sequences, which slow the network down when they are read slowly.
public struct DataStreamTask: Sendable {
    /// A sequence of events of a stream.
    public typealias Stream<Success: Sendable, Failure: Error> = StreamOf<DataStreamRequest.Stream<Success, Failure>>

    private let request: DataStreamRequest

    init(request: DataStreamRequest) {
        self.request = request
    }

    /// The content in the pieces in which it came.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: whether the request is cancelled when the sequence's iterator goes.
    ///   - bufferingPolicy: `.unbounded` loses nothing and slows the network down instead; the others drop pieces.
    public func streamingData(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<Data, Never>.BufferingPolicy = .unbounded
    ) -> Stream<Data, Never> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { .success($0) }
    }

    /// The content as text; a character that is split between two pieces comes with the second.
    public func streamingStrings(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<String, Never>.BufferingPolicy = .unbounded
    ) -> Stream<String, Never> {
        let text = StreamText()
        return stream(shouldAutomaticallyCancel, bufferingPolicy) { .success(text.append($0)) }
    }

    /// A value of each piece.
    public func streamingDecodables<T: Decodable & Sendable>(
        _ type: T.Type = T.self, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<T, AFError>.BufferingPolicy = .unbounded
    ) -> Stream<T, AFError> {
        streamingResponses(
            serializedUsing: DecodableStreamSerializer<T>(), automaticallyCancelling: shouldAutomaticallyCancel,
            bufferingPolicy: bufferingPolicy)
    }

    /// What a serialiser makes of each piece.
    public func streamingResponses<Serializer: DataStreamSerializer>(
        serializedUsing serializer: Serializer, automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        bufferingPolicy: Stream<Serializer.SerializedObject, AFError>.BufferingPolicy = .unbounded
    ) -> Stream<Serializer.SerializedObject, AFError> {
        stream(shouldAutomaticallyCancel, bufferingPolicy) { serializer.result(of: $0) }
    }

    private func stream<Value: Sendable, Failure: Error>(
        _ shouldAutomaticallyCancel: Bool, _ policy: Stream<Value, Failure>.BufferingPolicy,
        _ serialise: @escaping @Sendable (Data) -> Result<Value, Failure>
    ) -> Stream<Value, Failure> {
        let sink = SequenceStreamSink(request: request, policy: policy, serialise: serialise)
        _ = request.add(sink as any StreamSink)
        return Stream {
            await sink.next()
        } onTermination: { [request] in
            if shouldAutomaticallyCancel { request.cancel() }
            sink.buffer.finish()
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
    /// The content as async sequences.
    public func streamTask() -> DataStreamTask {
        DataStreamTask(request: self)
    }
}
