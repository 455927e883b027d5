// A stream's handler: a closure on a queue.

import Dispatch
import Foundation

/// Calls a closure with each value of a stream, then with the completion: in order, one call at a time.
final class ClosureStreamSink<Value: Sendable, Failure: Error>: StreamSink {
    private let request: DataStreamRequest
    private let decoder: StreamDecoder<Value, Failure>
    private let queue: DispatchQueue
    private let handler: DataStreamRequest.Handler<Value, Failure>

    init(
        request: DataStreamRequest, queue: DispatchQueue, reader: PieceReader<Value, Failure>,
        handler: @escaping DataStreamRequest.Handler<Value, Failure>
    ) {
        self.request = request
        decoder = StreamDecoder(request: request, reader: reader)
        // `queue` may be concurrent: a serial queue that targets it keeps the order.
        self.queue = DispatchQueue(label: "fireweed.stream.handler", target: queue)
        self.handler = handler
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
        request.receiver.beginWork()
        queue.async { [self] in
            if !request.isStopped { call(with: result) }
            decoder.consumed(weight)
            request.receiver.endWork(of: request)
        }
    }

    private func call(with result: Result<Value, Failure>) {
        do {
            try handler(.init(event: .stream(result), token: .init(request: request)))
        } catch {
            request.receiver.fail(request, with: error.asSerializationError)
        }
    }

    func serialise() -> AFError? { nil }
    func fail(with error: AFError) {}
    func wakeForConclusion() -> Bool { false }

    func deliver() {
        // The completion comes after the pieces that are still being read, and after the values that are still being
        // handled.
        decoder.inOrder { [self] in
            queue.async { [self] in
                try? handler(.init(event: .complete(request.completion), token: .init(request: request)))
            }
        }
    }
}
