// Where the pieces of a stream go: a closure on a queue, or an async sequence.

import Dispatch
import Foundation
import Synchronization

/// One consumer of a stream.
///
/// Its end is its place among the request's handlers.
protocol StreamSink: ResponseSlot {
    /// True when more than enough waits to be consumed: the transport then stops, until there is room.
    var isFull: Bool { get }
    /// Takes a piece; called on the transport's thread, in order.
    func receive(_ data: Data)
}

/// Bytes that wait in one consumer, and when that is too much.
struct Backlog {
    static let limit = 1024 * 1024
    private(set) var byteCount = 0
    private(set) var isFull = false

    mutating func add(_ count: Int) {
        byteCount += count
        isFull = byteCount >= Self.limit
    }

    /// Says whether there is room again after this.
    mutating func remove(_ count: Int) -> Bool {
        byteCount -= count
        guard isFull, byteCount < Self.limit / 2 else { return false }
        isFull = false
        return true
    }
}

/// Calls a closure on a queue, having serialised on another.
final class ClosureStreamSink<Value: Sendable, Failure: Error>: StreamSink {
    private let request: DataStreamRequest
    private let queue: DispatchQueue
    private let value: @Sendable (Data) -> Result<Value, Failure>
    private let handler: DataStreamRequest.Handler<Value, Failure>
    private let backlog = Mutex(Backlog())

    init(
        request: DataStreamRequest, queue: DispatchQueue,
        serialise: @escaping @Sendable (Data) -> Result<Value, Failure>,
        handler: @escaping DataStreamRequest.Handler<Value, Failure>
    ) {
        self.request = request
        self.queue = queue
        value = serialise
        self.handler = handler
    }

    var isFull: Bool { backlog.withLock { $0.isFull } }

    func receive(_ data: Data) {
        backlog.withLock { $0.add(data.count) }
        request.serializationQueue.async { [self] in
            let result = value(data)
            if case .failure(let error) = result, request.automaticallyCancelOnStreamError {
                request.fail(inStream: error.asSerializationError(requestError: nil))
            }
            tell(.stream(result)) { [self] in
                if backlog.withLock({ $0.remove(data.count) }) { request.lastAttempt?.resumeIntake() }
            }
        }
    }

    private func tell(_ event: DataStreamRequest.Event<Value, Failure>, then: @escaping @Sendable () -> Void = {}) {
        queue.async { [self] in
            do {
                try handler(.init(event: event, token: .init(request: request)))
            } catch {
                if request.automaticallyCancelOnStreamError {
                    request.fail(inStream: error.asSerializationError(requestError: nil))
                }
            }
            then()
        }
    }

    func serialise() -> AFError? { nil }
    func handOver() -> Bool { false }

    func deliver() {
        // Behind the pieces that are still being serialised.
        request.serializationQueue.async { [self] in tell(.complete(request.completion)) }
    }
}

/// Feeds an async sequence.
final class SequenceStreamSink<Value: Sendable, Failure: Error>: StreamSink {
    typealias Element = DataStreamRequest.Stream<Value, Failure>

    private let request: DataStreamRequest
    private let value: @Sendable (Data) -> Result<Value, Failure>
    private let backlog = Mutex(Backlog())
    private let isLossless: Bool
    let buffer: StreamBuffer<(stream: Element, byteCount: Int)>

    init(
        request: DataStreamRequest, policy: StreamOf<Element>.BufferingPolicy,
        serialise: @escaping @Sendable (Data) -> Result<Value, Failure>
    ) {
        self.request = request
        value = serialise
        if case .unbounded = policy { isLossless = true } else { isLossless = false }
        buffer = StreamBuffer(limit: policy.bufferLimit)
    }

    var isFull: Bool { backlog.withLock { $0.isFull } }

    func receive(_ data: Data) {
        if isLossless { backlog.withLock { $0.add(data.count) } }
        let result = value(data)
        if case .failure(let error) = result, request.automaticallyCancelOnStreamError {
            request.fail(inStream: error.asSerializationError(requestError: nil))
        }
        buffer.push((.init(event: .stream(result), token: .init(request: request)), data.count))
    }

    /// The next event; room that it makes lets the transport go on.
    func next() async -> Element? {
        guard let (stream, byteCount) = await buffer.next() else { return nil }
        if isLossless, backlog.withLock({ $0.remove(byteCount) }) { request.lastAttempt?.resumeIntake() }
        return stream
    }

    func serialise() -> AFError? { nil }
    func handOver() -> Bool { false }

    func deliver() {
        buffer.push((.init(event: .complete(request.completion), token: .init(request: request)), 0))
        buffer.finish()
    }
}
