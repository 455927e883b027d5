// Decoding of the pieces of a stream into values, in order.

import Dispatch
import Foundation
import Synchronization

/// Makes values from the pieces of a stream.
///
/// Its closures are called one at a time, in order.
struct PieceReader<Value: Sendable, Failure: Error>: Sendable {
    /// Takes a value or a failure, and the value's size in bytes.
    typealias Emit = (Result<Value, Failure>, Int) -> Void

    /// True for trusted code that never blocks: it runs on the transport's thread.
    var isQuick: Bool
    /// The effect of a reader's failure on the request.
    enum FailureEffect: Sendable {
        /// Nothing: the stream continues.
        case none
        /// The request ends with the failure.
        case ends
        /// The request is cancelled: its error is `AFError.explicitlyCancelled`. The failure is the stream's last
        /// value.
        case cancels
    }

    var onFailure: FailureEffect
    var read: @Sendable (Data, Emit) -> Void
    /// Called before the first piece of a new attempt.
    var restart: @Sendable () -> Void = {}
    /// Called after the last piece; the Boolean is true when the content is complete.
    var finish: @Sendable (Bool, Emit) -> Void = { _, _ in }
}

/// Runs a piece reader for one consumer, and tracks the weight of the values that wait.
///
/// A reader that is not quick runs on its own serial queue. That queue targets the session's serialisation queue, which
/// may be concurrent.
final class StreamDecoder<Value: Sendable, Failure: Error>: Sendable {
    typealias Deliver = @Sendable (_ result: Result<Value, Failure>, _ weight: Int) -> Void

    let request: DataStreamRequest
    private let reader: PieceReader<Value, Failure>
    private let queue: DispatchQueue?
    private let backlog = Mutex(Backlog())

    init(request: DataStreamRequest, reader: PieceReader<Value, Failure>) {
        self.request = request
        self.reader = reader
        queue = reader.isQuick ? nil : DispatchQueue(label: "fireweed.stream", target: request.serializationQueue)
    }

    var isFull: Bool { backlog.withLock { $0.isFull } }

    /// Reads a piece, and passes on its values.
    func take(_ data: Data, deliver: @escaping Deliver) {
        guard let queue else { return read(data, pieceWeight: 0, deliver) }
        let weight = Backlog.weight(data.count)
        change(by: weight)
        request.receiver.beginWork()
        queue.async { [self] in
            read(data, pieceWeight: weight, deliver)
            request.receiver.endWork(of: request)
        }
    }

    private func read(_ data: Data, pieceWeight: Int, _ deliver: Deliver) {
        var sum = -pieceWeight
        if !request.isStopped, !isOver {
            reader.read(data) { result, byteCount in sum += emit(result, byteCount, deliver) }
        }
        change(by: sum)
    }

    /// Passes on a value; returns its weight.
    private func emit(_ result: Result<Value, Failure>, _ byteCount: Int, _ deliver: Deliver) -> Int {
        guard !isOver else { return 0 }
        if case .failure(let error) = result, reader.onFailure != .none {
            backlog.withLock { $0.hasFailed = true }
            request.receiver.fail(
                request, with: reader.onFailure == .ends ? error.asSerializationError : .explicitlyCancelled)
        }
        let weight = Backlog.weight(byteCount)
        deliver(result, weight)
        return weight
    }

    private var isOver: Bool { backlog.withLock { $0.hasFailed || $0.isDetached } }

    /// Records that a value was consumed.
    func consumed(_ weight: Int) {
        change(by: -weight)
    }

    private func change(by count: Int) {
        if backlog.withLock({ $0.change(by: count) }) { request.lastAttempt?.resumeIntake() }
    }

    /// Drops everything, and never pauses the transport again.
    func detach() {
        if backlog.withLock({ $0.detach() }) { request.lastAttempt?.resumeIntake() }
    }

    func restart() {
        inOrder { [reader] in reader.restart() }
    }

    func finish(isWhole: Bool, deliver: @escaping Deliver) {
        inOrder { [self] in
            var sum = 0
            reader.finish(isWhole) { result, byteCount in sum += emit(result, byteCount, deliver) }
            change(by: sum)
        }
    }

    /// Runs `body` after all earlier pieces have been read.
    func inOrder(_ body: @escaping @Sendable () -> Void) {
        guard let queue else { return body() }
        queue.async(execute: body)
    }
}

/// A value that is used by one thread at a time, in the closures of one piece reader.
final class QueueConfined<Value>: @unchecked Sendable {
    // SAFETY: it belongs to a piece reader, whose closures are called one at a time, in order.
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}
