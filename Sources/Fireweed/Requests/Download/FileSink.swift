// The writer of a download's content to its file, off the event loop.

import Dispatch
import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// Joins pieces of content into large writes on its own queue, in blocks that are reused.
final class FileSink: Sendable {
    private struct State {
        var current: ContentBlock?
        var spare: [ContentBlock] = []
        /// How many blocks wait to be written.
        var waitingCount = 0
        var isFull = false
        var failure: FileFailure?
        var partial: PartialFile?
        var writtenByteCount: Int64
    }

    /// How many blocks may wait to be written before the transport stops.
    private static let mostBlocks = 4

    private let queue = DispatchQueue(label: "fireweed.file")
    private let state: Mutex<State>
    private let open: @Sendable () throws -> PartialFile
    private let onRoom: @Sendable () -> Void
    private let onFailure: @Sendable (FileFailure) -> Void

    /// Makes a sink for bytes from `offset` on.
    ///
    /// - Parameters:
    ///   - offset: the position in the file of the first byte.
    ///   - open: opens the file; called once, on the sink's queue, before the first write.
    ///   - onRoom: called when there is room again after `append` returned `.isFull`.
    ///   - onFailure: called once, at the first failure to open or to write; nothing is written after it.
    init(
        offset: Int64 = 0, open: @escaping @Sendable () throws -> PartialFile, onRoom: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (FileFailure) -> Void
    ) {
        state = Mutex(State(writtenByteCount: offset))
        self.open = open
        self.onRoom = onRoom
        self.onFailure = onFailure
    }

    /// The file; `nil` until the sink has opened it.
    var partial: PartialFile? { state.withLock { $0.partial } }
    /// The number of valid bytes in the file, including the bytes before the offset.
    var writtenByteCount: Int64 { state.withLock { $0.writtenByteCount } }
    /// The first failure to open or to write the file.
    var failure: FileFailure? { state.withLock { $0.failure } }

    // MARK: On the transport's thread

    /// Adds a piece; returns `.isFull` when the transport has to pause.
    func append(_ bytes: UnsafeRawBufferPointer) -> Demand {
        let (filled, isFull) = state.withLock { state -> ([ContentBlock], Bool) in
            if state.failure != nil { return ([], false) }  // the transfer is being cancelled
            let filled = Self.fill(&state, from: bytes)
            state.waitingCount += filled.count
            if state.waitingCount >= Self.mostBlocks { state.isFull = true }
            return (filled, state.isFull)
        }
        if !filled.isEmpty { queue.async { for block in filled { self.write(block) } } }
        return isFull ? .isFull : .wantsMore
    }

    /// Copies the bytes into blocks; returns the full blocks.
    private static func fill(_ state: inout State, from bytes: UnsafeRawBufferPointer) -> [ContentBlock] {
        var filled: [ContentBlock] = []
        var rest = bytes
        while !rest.isEmpty {
            let block = state.current ?? state.spare.popLast() ?? ContentBlock()
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(block.append(rest)))
            state.current = block
            if block.count == ContentBlock.capacity {
                filled.append(block)
                state.current = nil
            }
        }
        return filled
    }

    // MARK: On the queue

    /// Writes the rest, and makes the file even if there is no content; throws the first failure.
    ///
    /// Blocks until everything is written.
    func finish() throws {
        queue.sync {
            let rest = state.withLock { state in
                defer { state.current = nil }
                return state.current
            }
            if let rest {
                state.withLock { $0.waitingCount += 1 }
                write(rest)
            } else {
                _ = opened()
            }
            state.withLock { $0.spare = [] }
        }
        if let failure { throw failure }
    }

    /// Removes the written bytes from `offset` on; called after `finish`.
    func cut(at offset: Int64) {
        queue.sync {
            guard let partial, ftruncate(partial.descriptor, off_t(offset)) == 0 else { return }
            state.withLock { $0.writtenByteCount = offset }
        }
    }

    private func write(_ block: ContentBlock) {
        if let file = opened() { writeAll(block, to: file) }
        let hasRoom = state.withLock { state in
            block.count = 0
            if state.spare.count < Self.mostBlocks { state.spare.append(block) }
            state.waitingCount -= 1
            // The transport continues only when half of the blocks are written, so that it does not stop for each
            // block.
            guard state.isFull, state.waitingCount * 2 <= Self.mostBlocks else { return false }
            state.isFull = false
            return true
        }
        if hasRoom { onRoom() }
    }

    private func opened() -> PartialFile? {
        let (partial, failure) = state.withLock { ($0.partial, $0.failure) }
        if partial != nil || failure != nil { return failure == nil ? partial : nil }
        do {
            let made = try open()
            state.withLock { $0.partial = made }
            return made
        } catch {
            fail(error as? FileFailure ?? FileFailure(operation: .create, file: TemporaryFolders.folder, code: EIO))
            return nil
        }
    }

    private func writeAll(_ block: ContentBlock, to file: PartialFile) {
        var position = writtenByteCount
        var offset = 0
        while offset < block.count {
            let count = pwrite(
                file.descriptor, block.content.baseAddress?.advanced(by: offset), block.count - offset, off_t(position))
            if count > 0 {
                offset += count
                position += Int64(count)
            } else if errno != EINTR {
                let failure = FileFailure(operation: .write, file: file.url, code: count == 0 ? ENOSPC : errno)
                state.withLock { $0.writtenByteCount = position }
                return fail(failure)
            }
        }
        state.withLock { $0.writtenByteCount = position }
    }

    private func fail(_ failure: FileFailure) {
        let isFirst = state.withLock { state in
            defer { state.failure = state.failure ?? failure }
            return state.failure == nil
        }
        if isFirst { onFailure(failure) }
    }
}
