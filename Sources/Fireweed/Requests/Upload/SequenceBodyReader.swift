// Request content from an async sequence.

import Dispatch
import FireweedTransport
import Foundation
import Synchronization

/// Reads an async sequence as fast as the wire takes the bytes: the next element is requested when the previous element
/// is in the transfer's buffers.
///
/// While an element is awaited, no thread waits, except in the blocking form of `read`.
final class SequenceBodyReader<Content: AsyncSequence & Sendable>: BodyReader, @unchecked Sendable
where Content.Element: DataProtocol {
    // SAFETY: one read at a time uses these two variables, and the next read begins after the end of the previous read.
    private nonisolated(unsafe) var iterator: Content.AsyncIterator
    private nonisolated(unsafe) var rest = Data()
    private let state = Mutex(State())

    private struct State: Sendable {
        var task: Task<Void, Never>?
        var isStopped = false
    }

    var byteCount: Int64? { nil }

    init(_ content: Content) {
        iterator = content.makeAsyncIterator()
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, completion: @escaping @Sendable (Result<Int, any Error>) -> Void
    ) {
        guard rest.isEmpty else { return completion(.success(takeRest(into: buffer))) }
        // SAFETY: the buffer belongs to this read until its completion.
        nonisolated(unsafe) let buffer = buffer
        let task = CompletionBridge.run(completion) { [self] in try await fill(buffer) }
        let isStopped = state.withLock { state in
            state.task = task
            return state.isStopped
        }
        if isStopped { task.cancel() }
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) async throws -> Int {
        while let element = try await iterator.next() {
            guard !element.isEmpty else { continue }
            rest = Data(element)
            return takeRest(into: buffer)
        }
        return 0
    }

    private func takeRest(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = rest.copyBytes(to: buffer)
        rest = count == rest.count ? Data() : rest.dropFirst(count)
        return count
    }

    /// Stops reading: cancels the task of a pending read, which also cancels the sequence.
    func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
    }

    /// Reads the next bytes; blocks the caller's thread until the sequence gives them.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let outcome = ReadOutcome()
        let group = DispatchGroup()
        group.enter()
        read(into: buffer) { result in
            outcome.result.withLock { $0 = result }
            group.leave()
        }
        group.wait()
        return try outcome.result.withLock { $0 }.get()
    }

    private final class ReadOutcome: Sendable {
        let result = Mutex<Result<Int, any Error>>(.success(0))
    }
}

extension MessageContent {
    /// Content from a sequence that can be read once; a second reader throws `URLError.requestBodyStreamExhausted`.
    static func oneShot<Content: AsyncSequence & Sendable>(_ content: Content) -> MessageContent
    where Content.Element: DataProtocol {
        let isTaken = Atomic(false)
        return .reader {
            guard !isTaken.exchange(true, ordering: .acquiringAndReleasing) else {
                throw URLError(.requestBodyStreamExhausted)
            }
            return SequenceBodyReader(content)
        }
    }
}
