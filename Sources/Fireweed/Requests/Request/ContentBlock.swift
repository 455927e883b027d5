// Memory in which pieces of content are joined.

import Foundation
import Synchronization

/// Memory for many pieces; the memory is reused once the last reference to the block is released.
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
            .checkedCopy(from: UnsafeRawBufferPointer(rebasing: source[..<taken]))
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
