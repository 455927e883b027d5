// Reads a request's content ahead of the wire, off the loop.

import Dispatch
import Foundation

/// Fetches pieces of a body from its reader on a queue, so that the loop never waits for a disk or a stream.
///
/// What is there at once is read at once. From the first time that it is not, two blocks go round: one is being sent
/// while the other is being filled. Used on the loop's thread only.
final class BodyPump {
    /// The answer to a connection that asks for bytes to send.
    enum Supply {
        case bytes(Int)
        case end
        /// Nothing is ready; `whenReady` is called on the loop as soon as something is.
        case starved
        case failed(any Error)
    }

    /// One piece on its way; its one owner is the queue or the loop, never both.
    private final class Block: @unchecked Sendable {
        static let capacity = 128 * 1024
        // SAFETY: handed back and forth with the read that fills it; only one side ever has the reference in use.
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        var count = 0

        deinit { bytes.deallocate() }
    }

    private let reader: any BodyReader
    private let loop: EventLoop
    private lazy var queue = DispatchQueue(label: "fireweed.body")
    private var filled: Block?
    private var offset = 0
    private var spare: [Block] = []
    /// True as long as the reader has not had to wait.
    private var isImmediate = true
    private var isReading = false
    private var end: Result<Void, any Error>?
    private var remaining: Int64?
    /// The length that the reader announced, if it knows it.
    let byteCount: Int64?
    var whenReady: () -> Void = {}

    init(reader: any BodyReader, loop: EventLoop) {
        self.reader = reader
        self.loop = loop
        byteCount = reader.byteCount
        remaining = reader.byteCount
    }

    deinit { reader.stop() }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Supply {
        if isImmediate, let supply = readAtOnce(into: buffer) { return supply }
        guard let block = filled else {
            switch end {
            case .success: return .end
            case .failure(let error): return .failed(error)
            case nil: return .starved
            }
        }
        let count = min(buffer.count, block.count - offset)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.bytes[offset..<(offset + count)]))
        offset += count
        if offset == block.count {
            filled = nil
            spare.append(block)
            waiting.map(accept)
            fill()
        }
        return .bytes(count)
    }

    /// The file whose next bytes the kernel has in memory, and how many; `nil` where content has to be read.
    func cachedFile(limit: Int) -> (descriptor: Int32, byteCount: Int)? {
        guard isImmediate, let file = reader as? FileBodyReader, let remaining, remaining > 0 else { return nil }
        let count = file.cachedByteCount(limit: Int(min(remaining, Int64(limit))))
        return count > 0 ? (file.descriptor, count) : nil
    }

    /// Notes bytes of the file that left without being read.
    func skip(_ byteCount: Int) {
        remaining = remaining.map { $0 - Int64(byteCount) }
    }

    /// `nil` from the time when there is something to wait for.
    private func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) -> Supply? {
        let limit = remaining.map { Int(min($0, Int64(buffer.count))) } ?? buffer.count
        do {
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(limit))
            if let count = try limit == 0 ? 0 : reader.readAtOnce(into: piece) {
                guard count > 0 else {
                    let missing = remaining ?? 0
                    return missing == 0 ? .end : .failed(BodyLengthError(missingByteCount: missing))
                }
                remaining = remaining.map { $0 - Int64(count) }
                return .bytes(count)
            }
        } catch {
            return .failed(error)
        }
        isImmediate = false
        spare = [Block(), Block()]
        fill()
        return nil
    }

    /// A block that was filled while the one before was still being sent.
    private var waiting: Block?

    private func fill() {
        guard !isReading, end == nil, waiting == nil, let block = spare.popLast() else { return }
        isReading = true
        let limit = remaining.map { Int(min($0, Int64(Block.capacity))) } ?? Block.capacity
        let reply = PumpReply(pump: self)
        let finish: @Sendable (Result<Int, any Error>) -> Void = { [loop] result in
            loop.post { _ in reply.pump?.didRead(result, into: block) }
        }
        queue.async { [reader] in
            guard limit > 0 else { return finish(.success(0)) }
            reader.read(into: UnsafeMutableRawBufferPointer(rebasing: block.bytes[..<limit]), completion: finish)
        }
    }

    private func didRead(_ result: Result<Int, any Error>, into block: Block) {
        isReading = false
        switch result {
        case .success(0):
            spare.append(block)
            let missing = remaining ?? 0
            end = missing == 0 ? .success(()) : .failure(BodyLengthError(missingByteCount: missing))
        case .success(let count):
            block.count = count
            remaining = remaining.map { $0 - Int64(count) }
            if filled == nil { accept(block) } else { waiting = block }
            fill()
        case .failure(let error):
            end = .failure(error)
        }
        whenReady()
    }

    private func accept(_ block: Block) {
        waiting = nil
        filled = block
        offset = 0
    }

    /// Carries the pump to the queue and back; the pump may be gone by then.
    private final class PumpReply: @unchecked Sendable {
        // SAFETY: made and read on the loop's thread only; the queue merely holds the reference to this object.
        weak var pump: BodyPump?

        init(pump: BodyPump) { self.pump = pump }
    }
}

/// A body ended before the length that had been announced for it.
public struct BodyLengthError: Error, Sendable, Equatable {
    /// How many of the announced bytes did not come.
    public var missingByteCount: Int64
}
