// The buffer of a stream's async sequence.

import FireweedTransport
import Foundation

/// Buffers the values of a stream for one reader.
final class SequenceStreamSink<Value: Sendable, Failure: Error>: StreamSink {
    typealias Element = DataStreamRequest.Stream<Value, Failure>

    private let request: DataStreamRequest
    private let decoder: StreamDecoder<Value, Failure>
    /// Whether the buffer never drops a value; a slow reader pauses the transport in this case only.
    private let isLossless: Bool
    private let buffer: StreamBuffer<(stream: Element, weight: Int)>
    /// Takes the head of the response, or the error when none came; `nil` when no caller waits for the head.
    private let head: OneAnswer<Result<ResponseHead, AFError>>?

    init(
        request: DataStreamRequest, limit: BufferLimit, reader: PieceReader<Value, Failure>,
        head: OneAnswer<Result<ResponseHead, AFError>>? = nil
    ) {
        self.head = head
        self.request = request
        decoder = StreamDecoder(request: request, reader: reader)
        if case .unbounded = limit { isLossless = true } else { isLossless = false }
        buffer = StreamBuffer(limit: limit)
    }

    var isSequence: Bool { true }
    var takesHead: Bool { head != nil }

    func receive(_ head: ResponseHead) {
        self.head?.give(.success(head))
    }

    var isFull: Bool { decoder.isFull }

    func receive(_ data: Data) {
        decoder.take(data) { [self] in deliver($0, weight: $1) }
    }

    func restart() {
        decoder.restart()
    }

    func finish(isWhole: Bool) {
        decoder.finish(isWhole: isWhole) { [self] in deliver($0, weight: $1) }
    }

    private func deliver(_ result: Result<Value, Failure>, weight: Int) {
        let stream = Element(event: .stream(result), token: .init(request: request))
        buffer.push((stream, isLossless ? weight : 0))
        if !isLossless { decoder.consumed(weight) }
    }

    /// Returns the next event; the transport continues when there is room again.
    func next() async -> Element? {
        guard let (stream, weight) = await buffer.next() else { return nil }
        if weight > 0 { decoder.consumed(weight) }
        return stream
    }

    /// Called when the reader is gone: drops content, and never pauses the transport again.
    func detach(cancelling: Bool) {
        if cancelling { request.cancel() }
        request.receiver.remove(self)
        decoder.detach()
        buffer.finish(discarding: true)
    }

    func serialise() -> AFError? { nil }
    func fail(with error: AFError) {}
    func wakeForConclusion() -> Bool { false }

    func deliver() {
        // A response may have ended before this consumer was added: its head is given here. A second `give` has no
        // effect.
        if let head {
            let error = request.error
            head.give(
                error.map { .failure($0) } ?? request.responseHead.map { .success($0) }
                    ?? .failure(.explicitlyCancelled))
        }
        decoder.inOrder { [self] in
            buffer.push((.init(event: .complete(request.completion), token: .init(request: request)), 0))
            buffer.finish()
        }
    }
}

extension SequenceStreamSink where Failure == AFError {
    /// The next value, or the error that ends the stream; `nil` at the end of a complete stream.
    @Sendable
    func nextResult() async -> Result<Value, AFError>? {
        // `nil` means that the reader was released, or that its task was cancelled.
        guard let stream = await next() else { return .failure(.explicitlyCancelled) }
        return switch stream.event {
        case .stream(let result): result
        case .complete(let completion): completion.error.map { .failure($0) }
        }
    }
}
