// Writes a download's content to its file, off the loop.

import Dispatch
import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// Gathers pieces into large writes, done on a queue of its own, from blocks that go round.
final class FileSink: Sendable {
    private struct State {
        var current: ContentBlock?
        var spare: [ContentBlock] = []
        var blockCount = 0
        var isFull = false
        var failure: FileFailure?
        var partial: PartialFile?
        var writtenByteCount: Int64
    }

    /// So much memory a sink has at most: one block is being filled while others are being written.
    private static let mostBlocks = 4

    private let queue = DispatchQueue(label: "fireweed.file")
    private let state: Mutex<State>
    private let open: @Sendable () throws -> PartialFile
    private let onRoom: @Sendable () -> Void
    private let onFailure: @Sendable (FileFailure) -> Void

    /// Makes a sink for bytes from `offset` on.
    ///
    /// - Parameters:
    ///   - open: makes the file ready; called once, on the sink's queue, before the first write.
    ///   - onRoom: called when there is room again after `append` said `.pause`.
    ///   - onFailure: called at the first write that fails; nothing is written after it.
    init(
        offset: Int64 = 0, open: @escaping @Sendable () throws -> PartialFile, onRoom: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (FileFailure) -> Void
    ) {
        state = Mutex(State(writtenByteCount: offset))
        self.open = open
        self.onRoom = onRoom
        self.onFailure = onFailure
    }

    /// The file, once there is one.
    var partial: PartialFile? { state.withLock { $0.partial } }
    /// How many bytes of the file are good, those in front of the offset included.
    var writtenByteCount: Int64 { state.withLock { $0.writtenByteCount } }
    /// The first failure of all writes.
    var failure: FileFailure? { state.withLock { $0.failure } }

    // MARK: On the transport's thread

    /// Takes a piece, or none of it.
    func append(_ bytes: UnsafeRawBufferPointer) -> Intake {
        enum Step { case taken, pause, write([ContentBlock]) }
        let step = state.withLock { state -> Step in
            if state.failure != nil { return .taken }  // the transfer is being cancelled
            guard Self.hasRoom(for: bytes.count, in: state) else {
                state.isFull = true
                return .pause
            }
            let filled = Self.fill(&state, from: bytes)
            return filled.isEmpty ? .taken : .write(filled)
        }
        switch step {
        case .taken: return .taken
        case .pause: return .pause
        case .write(let blocks):
            queue.async { for block in blocks { self.write(block) } }
            return .taken
        }
    }

    private static func hasRoom(for count: Int, in state: State) -> Bool {
        let free = state.spare.count + mostBlocks - state.blockCount
        let room = (state.current.map { ContentBlock.capacity - $0.count } ?? 0) + free * ContentBlock.capacity
        // A piece larger than all blocks together has to go somewhere, once they are free.
        return room >= count || free + (state.current == nil ? 0 : 1) == mostBlocks
    }

    /// Copies the bytes into blocks; returns those that are full.
    private static func fill(_ state: inout State, from bytes: UnsafeRawBufferPointer) -> [ContentBlock] {
        var filled: [ContentBlock] = []
        var rest = bytes
        while !rest.isEmpty {
            let block = state.current ?? state.spare.popLast() ?? newBlock(&state)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(block.append(rest)))
            state.current = block
            if block.count == ContentBlock.capacity {
                filled.append(block)
                state.current = nil
            }
        }
        return filled
    }

    private static func newBlock(_ state: inout State) -> ContentBlock {
        state.blockCount += 1
        return ContentBlock()
    }

    // MARK: On the queue

    /// Writes what is left, and makes the file even if nothing came; throws the first failure of all writes.
    ///
    /// Waits for the disk.
    func finish() throws {
        queue.sync {
            let rest = state.withLock { state in
                defer { state.current = nil }
                return state.current
            }
            if let rest { write(rest) } else { _ = opened() }
            state.withLock { $0.spare = [] }
        }
        if let failure { throw failure }
    }

    private func write(_ block: ContentBlock) {
        if let file = opened() { writeAll(block, to: file) }
        let hasRoom = state.withLock { state in
            block.count = 0
            state.spare.append(block)
            // Room is told of when half of the blocks are free, so that the socket is not stopped for each.
            guard state.isFull, state.spare.count * 2 >= Self.mostBlocks else { return false }
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
            fail(error as? FileFailure ?? FileFailure(step: .create, file: TemporaryFiles.folder, code: EIO))
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
                let failure = FileFailure(step: .write, file: file.url, code: count == 0 ? ENOSPC : errno)
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
