// The reading of a request's content ahead of sending, off the loop.

public import Foundation

/// Reads a body on other threads, so that the loop never waits for a disk or a stream.
///
/// Content that is available without waiting is read directly. When a read would have to wait, the pump changes to two
/// blocks: one is sent while the other is filled. Used on the loop's thread only.
final class BodyPump {
    /// The result of a connection's request for bytes to send.
    enum Supply {
        case bytes(Int)
        case end
        /// No bytes are ready; `whenReady` is called on the loop when some are.
        case starved
        case failed(any Error)
    }

    /// The result for a connection that can send a file without reading it.
    enum FileSupply {
        /// The kernel has the next `byteCount` bytes in memory.
        case cached(descriptor: Int32, offset: Int64, byteCount: Int)
        /// The kernel is reading the bytes from the disk; `whenReady` is called on the loop when it has.
        case starved
    }

    /// One piece of content, owned either by the reading thread or by the loop, never by both.
    private final class Block: @unchecked Sendable {
        static let capacity = 128 * 1024
        // SAFETY: passed to the read that fills it and back; only one side uses the reference at any time.
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        var count = 0

        deinit { bytes.deallocate() }
    }

    private let reader: any BodyReader
    private let loop: EventLoop
    private var filled: Block?
    private var offset = 0
    private var spare: [Block] = []
    /// True until a read would have had to wait.
    private var isImmediate = true
    /// Whether another thread is reading, into a block or only into the kernel's memory.
    private var isReading = false
    /// The end of the part of the file that was read ahead; `nil` if nothing was.
    private var ahead: Int64?
    private static let aheadByteCount: Int64 = 1024 * 1024
    private var end: Result<Void, any Error>?
    private var remaining: Int64?
    /// Whether content beyond the announced length is an error; false for a file, of which only the announced part is
    /// read.
    let looksBehindEnd: Bool
    /// The length that the reader announced; `nil` if it is unknown.
    let byteCount: Int64?
    var whenReady: () -> Void = {}

    init(reader: any BodyReader, loop: EventLoop) {
        self.reader = reader
        self.loop = loop
        byteCount = reader.byteCount
        remaining = reader.byteCount
        looksBehindEnd = !(reader is FileBodyReader)
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
        buffer.checkedCopy(from: UnsafeRawBufferPointer(rebasing: block.bytes[offset..<(offset + count)]))
        offset += count
        if offset == block.count {
            filled = nil
            spare.append(block)
            waiting.map(accept)
            fill()
        }
        return .bytes(count)
    }

    /// Returns what can be sent of a file without reading it; `nil` if the content has to be read.
    func fileSupply(limit: Int) -> FileSupply? {
        guard isImmediate, let file = reader as? FileBodyReader, let byteCount, let remaining, remaining > 0
        else { return nil }
        let position = byteCount - remaining
        let count = file.cachedByteCount(limit: Int(min(remaining, Int64(limit))))
        if count > 0 {
            if let ahead, position + Self.aheadByteCount > ahead { readAhead(file, from: max(ahead, position)) }
            return .cached(descriptor: file.descriptor, offset: position, byteCount: count)
        }
        if isReading { return .starved }
        // `nil` reads a part in the ordinary way: a part that was read ahead but is no longer in memory, or one that
        // cannot be read ahead.
        guard position >= ahead ?? 0 else { return nil }
        readAhead(file, from: position)
        return .starved
    }

    /// Reads a part of the file into the kernel's memory, on another thread.
    private func readAhead(_ file: FileBodyReader, from start: Int64) {
        guard let byteCount, !isReading, start < byteCount else { return }
        isReading = true
        let end = min(byteCount, start + Self.aheadByteCount)
        ahead = end
        let reply = PumpReply(pump: self)
        ContentThreads.shared.run { [loop] failure in
            // If there is no thread, nothing is read ahead, and the next read fails.
            if failure == nil { file.readAhead(start..<end) }
            loop.post { _ in reply.pump?.didReadAhead() }
        }
    }

    private func didReadAhead() {
        isReading = false
        // If the pump changed to blocks during the read-ahead, `fill` has waited for the end of the read-ahead.
        if !isImmediate { fill() }
        whenReady()
    }

    /// Records bytes of the file that were sent without being read.
    func skip(_ byteCount: Int) {
        (reader as? FileBodyReader)?.skip(byteCount)
        remaining = remaining.map { $0 - Int64(byteCount) }
    }

    /// Returns the most bytes to request from the reader: one more than is left, to notice content beyond the announced
    /// length.
    private func readLimit(_ capacity: Int) -> Int {
        guard let remaining, remaining < capacity else { return capacity }
        return Int(remaining) + (looksBehindEnd ? 1 : 0)
    }

    /// Records how many bytes the reader returned; the result is `nil` for bytes to send, otherwise the end or a
    /// failure.
    private func noteRead(_ count: Int) -> Result<Void, any Error>? {
        guard let left = remaining else { return count == 0 ? .success(()) : nil }
        guard count > 0 else {
            return left == 0 ? .success(()) : .failure(BodyLengthError(missingByteCount: left))
        }
        guard count <= left else { return .failure(BodyLengthError(missingByteCount: 0)) }
        remaining = left - Int64(count)
        return nil
    }

    /// Reads without waiting; if that is impossible, returns `nil` and changes to blocks.
    private func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) -> Supply? {
        let limit = readLimit(buffer.count)
        do {
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(limit))
            if let count = try limit == 0 ? 0 : reader.readAtOnce(into: piece) {
                switch noteRead(count) {
                case nil: return .bytes(count)
                case .success: return .end
                case .failure(let error): return .failed(error)
                }
            }
        } catch {
            return .failed(error)
        }
        isImmediate = false
        spare = [Block(), Block()]
        fill()
        return nil
    }

    /// A block that was filled while the previous block was still being sent.
    private var waiting: Block?

    private func fill() {
        guard !isReading, end == nil, waiting == nil, let block = spare.popLast() else { return }
        isReading = true
        let limit = readLimit(Block.capacity)
        let reply = PumpReply(pump: self)
        let finish: @Sendable (Result<Int, any Error>) -> Void = { [loop] result in
            loop.post { _ in reply.pump?.didRead(result, into: block) }
        }
        ContentThreads.shared.run { [reader] failure in
            if let failure { return finish(.failure(URLError.noAnswer(failure))) }
            guard limit > 0 else { return finish(.success(0)) }
            reader.read(into: UnsafeMutableRawBufferPointer(rebasing: block.bytes[..<limit]), completion: finish)
        }
    }

    private func didRead(_ result: Result<Int, any Error>, into block: Block) {
        isReading = false
        switch result {
        case .success(let count):
            end = noteRead(count)
            guard end == nil else {
                spare.append(block)
                break
            }
            block.count = count
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

    /// Refers to the pump while another thread reads; the pump may no longer exist when the thread replies.
    private final class PumpReply: @unchecked Sendable {
        // SAFETY: made and read on the loop's thread only; the reading thread merely holds a reference to this object.
        weak var pump: BodyPump?

        init(pump: BodyPump) { self.pump = pump }
    }
}

extension URLError {
    /// The error when no thread is free to read the content.
    fileprivate static func noAnswer(_ cause: BlockingThreads.Exhausted) -> URLError {
        let text = "the content could not be read: files or streams do not answer: \(cause.description)"
        return URLError(.cannotOpenFile, userInfo: [NSLocalizedDescriptionKey: text])
    }
}

/// The content has more or fewer bytes than announced.
public struct BodyLengthError: Error, Sendable, Equatable {
    /// The number of announced bytes that are missing; zero if there were more bytes than announced.
    public var missingByteCount: Int64
}

extension BodyLengthError: CustomStringConvertible, LocalizedError {
    /// The problem in words, with the number of missing bytes.
    public var description: String {
        missingByteCount == 0
            ? "the content has more bytes than were announced"
            : "the content ended with \(missingByteCount) announced bytes missing"
    }
    /// The description.
    public var errorDescription: String? { description }
}
