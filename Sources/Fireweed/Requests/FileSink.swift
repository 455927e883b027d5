// Writes a download's content to its file, off the loop.

import Dispatch
import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// Gathers pieces into large writes, done on a queue of its own, from blocks that go round.
final class FileSink: Sendable {
    /// Memory for one write; it belongs to the state or to the write that is under way, never to both.
    private final class Block: @unchecked Sendable {
        // SAFETY: filled under the state's lock, then read by the one write that took it out of the state.
        static let capacity = 256 * 1024
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 4096)
        var count = 0

        deinit { bytes.deallocate() }

        /// Copies as much of the bytes as there is room for; returns how much that was.
        func append(_ source: UnsafeRawBufferPointer) -> Int {
            let taken = min(source.count, Self.capacity - count)
            UnsafeMutableRawBufferPointer(rebasing: bytes[count..<(count + taken)])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<taken]))
            count += taken
            return taken
        }
    }

    private struct State {
        var current: Block?
        var spare: [Block] = []
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
        enum Step { case taken, pause, write([Block]) }
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
        let room = (state.current.map { Block.capacity - $0.count } ?? 0) + free * Block.capacity
        // A piece larger than all blocks together has to go somewhere, once they are free.
        return room >= count || free + (state.current == nil ? 0 : 1) == mostBlocks
    }

    /// Copies the bytes into blocks; returns those that are full.
    private static func fill(_ state: inout State, from bytes: UnsafeRawBufferPointer) -> [Block] {
        var filled: [Block] = []
        var rest = bytes
        while !rest.isEmpty {
            let block = state.current ?? state.spare.popLast() ?? newBlock(&state)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(block.append(rest)))
            state.current = block
            if block.count == Block.capacity {
                filled.append(block)
                state.current = nil
            }
        }
        return filled
    }

    private static func newBlock(_ state: inout State) -> Block {
        state.blockCount += 1
        return Block()
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

    private func write(_ block: Block) {
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

    private func writeAll(_ block: Block, to file: PartialFile) {
        var position = writtenByteCount
        var offset = 0
        while offset < block.count {
            let count = pwrite(
                file.descriptor, block.bytes.baseAddress?.advanced(by: offset), block.count - offset, off_t(position))
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
