// Joins small pieces of content to large ones.

import Foundation
import Synchronization

/// Joins pieces of content of 16 KiB each, since each piece costs a thread hop.
///
/// A piece of another size is the end of what the server has sent so far, and is passed on immediately: so a server
/// that sends one value in each chunk is read chunk by chunk. For one thread at a time.
struct ContentCoalescer: Sendable {
    /// The size of a piece that more content follows: a DATA frame has no more unless it is asked for (RFC 9113 §4.2).
    private static let cut = 16 * 1024
    private var block: ContentBlock?

    /// Whether content is held back for more.
    var isOpen: Bool { (block?.count ?? 0) > 0 }

    /// Copies a piece; returns the content to pass on, if any.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Data? {
        guard bytes.count <= block?.room ?? ContentBlock.capacity else { return (take() ?? Data()) + bytes }
        let block = self.block ?? ContentBlock()
        self.block = block
        _ = block.append(bytes)
        return bytes.count == Self.cut && block.room >= Self.cut ? nil : take()
    }

    /// The content that was held back; `nil` when there is none.
    mutating func take() -> Data? {
        guard let block, block.count > 0 else { return nil }
        // A consumer that keeps a little content must not keep a whole block in memory.
        guard block.count >= ContentBlock.capacity / 4 else {
            defer { block.count = 0 }
            return Data(block.content)
        }
        self.block = nil
        return block.data
    }
}

/// Memory for many pieces; it is reused once its last reference is released.
final class ContentBlock: @unchecked Sendable {
    // SAFETY: one owner at a time: first the writer, then readers, which change nothing.
    static let capacity = 256 * 1024
    private let bytes: UnsafeMutableRawBufferPointer
    var count = 0

    init() {
        bytes =
            Self.spare.withLock { $0.popLast() }?.bytes
            ?? UnsafeMutableRawBufferPointer.allocate(byteCount: Self.capacity, alignment: 4096)
    }

    deinit {
        let memory = Memory(bytes: bytes)
        let isKept = Self.spare.withLock { spare in
            guard spare.count < Self.spareLimit else { return false }
            spare.append(memory)
            return true
        }
        if !isKept { bytes.deallocate() }
    }

    var room: Int { Self.capacity - count }
    var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<count]) }

    /// The content, without a copy; the data keeps the block alive.
    var data: Data {
        guard count > 0, let start = bytes.baseAddress else { return Data() }
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { _, _ in withExtendedLifetime(self) {} })
    }

    /// Copies as many bytes as there is room for; returns their number.
    func append(_ source: UnsafeRawBufferPointer) -> Int {
        let taken = min(source.count, room)
        UnsafeMutableRawBufferPointer(rebasing: bytes[count..<(count + taken)])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<taken]))
        count += taken
        return taken
    }

    /// Memory of earlier blocks: new memory costs a page fault for every 4 KiB.
    private static let spare = Mutex<[Memory]>([])
    private static let spareLimit = 8

    private struct Memory: @unchecked Sendable {
        // SAFETY: spare memory has no user.
        let bytes: UnsafeMutableRawBufferPointer
    }
}
