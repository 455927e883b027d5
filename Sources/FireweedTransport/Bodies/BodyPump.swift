// Reads a request's content ahead of the wire, off the loop.

public import Foundation

/// Fetches pieces of a body from its reader on other threads, so that the loop never waits for a disk or a stream.
///
/// Content that is available without waiting is read directly. From the first read that would have to wait, two blocks
/// alternate: one is being sent while the other is being filled. Used on the loop's thread only.
final class BodyPump {
    /// The answer to a connection that asks for bytes to send.
    enum Supply {
        case bytes(Int)
        case end
        /// Nothing is ready; `whenReady` is called on the loop as soon as something is.
        case starved
        case failed(any Error)
    }

    /// The answer to a connection that can send a file without reading it.
    enum FileSupply {
        /// The kernel has the next `byteCount` bytes in memory.
        case cached(descriptor: Int32, offset: Int64, byteCount: Int)
        /// The kernel reads them from the disk; `whenReady` is called on the loop when it has.
        case starved
    }

    /// One piece of content; its one owner is the thread that reads or the loop, never both.
    private final class Block: @unchecked Sendable {
        static let capacity = 128 * 1024
        // SAFETY: handed back and forth with the read that fills it; only one side ever has the reference in use.
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        var count = 0

        deinit { bytes.deallocate() }
    }

    private let reader: any BodyReader
    private let loop: EventLoop
    private var filled: Block?
    private var offset = 0
    private var spare: [Block] = []
    /// True as long as the reader has not had to wait.
    private var isImmediate = true
    /// Whether a thread reads, into a block or only into the kernel's memory.
    private var isReading = false
    /// The end of the part of a file that was read ahead; `nil` before the first time.
    private var ahead: Int64?
    private static let aheadByteCount: Int64 = 1024 * 1024
    private var end: Result<Void, any Error>?
    private var remaining: Int64?
    /// Whether more content than was announced is an error; of a file that grows, only the announced part is read.
    let looksBehindEnd: Bool
    /// The length that the reader announced, if it knows it.
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

    /// What can be sent of a file without reading it; `nil` where content has to be read.
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
        // A part that was read ahead and is no longer in memory, or that cannot be read ahead, is read in the ordinary
        // way.
        guard position >= ahead ?? 0 else { return nil }
        readAhead(file, from: position)
        return .starved
    }

    /// Reads a part of the file into the kernel's memory, off the loop.
    private func readAhead(_ file: FileBodyReader, from start: Int64) {
        guard let byteCount, !isReading, start < byteCount else { return }
        isReading = true
        let end = min(byteCount, start + Self.aheadByteCount)
        ahead = end
        let reply = PumpReply(pump: self)
        ContentThreads.shared.run { [loop] failure in
            // Without a thread, the read that follows fails.
            if failure == nil { file.readAhead(start..<end) }
            loop.post { _ in reply.pump?.didReadAhead() }
        }
    }

    private func didReadAhead() {
        isReading = false
        // Meanwhile the pump may have changed to blocks, and `fill` has waited for this thread.
        if !isImmediate { fill() }
        whenReady()
    }

    /// Notes bytes of the file that left without being read.
    func skip(_ byteCount: Int) {
        (reader as? FileBodyReader)?.skip(byteCount)
        remaining = remaining.map { $0 - Int64(byteCount) }
    }

    /// The most bytes to ask the reader for: one more than is left, to notice content beyond the announced length.
    private func readLimit(_ capacity: Int) -> Int {
        guard let remaining, remaining < capacity else { return capacity }
        return Int(remaining) + (looksBehindEnd ? 1 : 0)
    }

    /// Records how many bytes the reader gave; `nil` for a piece to send, else the end.
    private func noteRead(_ count: Int) -> Result<Void, any Error>? {
        guard let left = remaining else { return count == 0 ? .success(()) : nil }
        guard count > 0 else {
            return left == 0 ? .success(()) : .failure(BodyLengthError(missingByteCount: left))
        }
        guard count <= left else { return .failure(BodyLengthError(missingByteCount: 0)) }
        remaining = left - Int64(count)
        return nil
    }

    /// Reads without waiting; `nil` when that is not possible, and blocks are used from then on.
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

    /// A block that was filled while the one before was still being sent.
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

    /// Carries the pump to the thread that reads and back; the pump may be gone by then.
    private final class PumpReply: @unchecked Sendable {
        // SAFETY: made and read on the loop's thread only; the reading thread merely holds a reference to this object.
        weak var pump: BodyPump?

        init(pump: BodyPump) { self.pump = pump }
    }
}

extension URLError {
    /// The error of content for which no thread is left.
    fileprivate static func noAnswer(_ cause: BlockingThreads.Exhausted) -> URLError {
        let text = "the content could not be read: files or streams do not answer: \(cause.description)"
        return URLError(.cannotOpenFile, userInfo: [NSLocalizedDescriptionKey: text])
    }
}

/// The content does not have the length that was announced for it.
public struct BodyLengthError: Error, Sendable, Equatable {
    /// How many of the announced bytes did not come; zero when content came after all announced bytes.
    public var missingByteCount: Int64
}

extension BodyLengthError: CustomStringConvertible, LocalizedError {
    /// A sentence, with the number of missing bytes.
    public var description: String {
        missingByteCount == 0
            ? "the content has more bytes than were announced"
            : "the content ended with \(missingByteCount) announced bytes missing"
    }
    /// The description.
    public var errorDescription: String? { description }
}
