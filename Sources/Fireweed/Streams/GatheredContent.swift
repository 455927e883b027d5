// From the small pieces in which content comes to the large ones in which it goes on.

import Foundation
import Synchronization

/// Gathers the pieces of a stream that are only pieces: libcurl cuts content at every 16 KiB, and each piece costs the way to another
/// thread.
///
/// A piece of another size is what the server sent as one, or the end of it: it goes on at once, so that whoever sends a value in each
/// chunk is read chunk by chunk. Touched by one thread at a time.
struct GatheredContent: Sendable {
    /// The largest piece of libcurl's (`CURL_MAX_WRITE_SIZE`).
    private static let cut = 16 * 1024
    private var block: ContentBlock?

    /// True when what was gathered is only the beginning of something.
    var isOpen: Bool { (block?.count ?? 0) > 0 }

    /// Copies a piece; returns what is to go on.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Data? {
        guard bytes.count <= block?.room ?? ContentBlock.capacity else { return (take() ?? Data()) + bytes }
        let block = self.block ?? ContentBlock()
        self.block = block
        _ = block.append(bytes)
        return bytes.count == Self.cut && block.room >= Self.cut ? nil : take()
    }

    /// Everything that was gathered; `nil` when that is nothing.
    mutating func take() -> Data? {
        guard let block, block.count > 0 else { return nil }
        // Whoever keeps a little must not keep a whole block.
        guard block.count >= ContentBlock.capacity / 4 else {
            defer { block.count = 0 }
            return Data(block.content)
        }
        self.block = nil
        return block.data
    }
}

/// Memory for many pieces, which is used again when nobody has it any more.
final class ContentBlock: @unchecked Sendable {
    // SAFETY: one owner at a time: whoever fills it, then whoever reads it and changes nothing.
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

    /// The content, without a copy; the block lives as long as it does.
    var data: Data {
        guard count > 0, let start = bytes.baseAddress else { return Data() }
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { _, _ in withExtendedLifetime(self) {} })
    }

    /// Copies as much of the bytes as there is room for; returns how much that was.
    func append(_ source: UnsafeRawBufferPointer) -> Int {
        let taken = min(source.count, room)
        UnsafeMutableRawBufferPointer(rebasing: bytes[count..<(count + taken)])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<taken]))
        count += taken
        return taken
    }

    /// What blocks leave for the next ones: fresh memory costs a page fault for every 4 KiB.
    private static let spare = Mutex<[Memory]>([])
    private static let spareLimit = 8

    private struct Memory: @unchecked Sendable {
        // SAFETY: nobody uses it while it is spare.
        let bytes: UnsafeMutableRawBufferPointer
    }
}
