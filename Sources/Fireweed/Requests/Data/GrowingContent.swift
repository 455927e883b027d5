// Content that grows in memory.

import Foundation

/// Content that grows in memory, with memory reserved by the length that the peer announces.
///
/// When the reserved memory is full, it grows to twice its size, or to 1 MiB more than the received bytes, whichever is
/// more, but never beyond the announced length. A peer that announces more than it sends wastes at most 1 MiB, or as
/// much memory as its bytes take.
struct GrowingContent {
    /// The received bytes; `nil` before the first byte.
    private(set) var data: Data?
    /// The number of bytes for which memory was reserved.
    private(set) var capacity = 0
    private var announced: Int??

    /// The number of bytes that may always be reserved beyond the received bytes.
    static let reserve = 1 << 20
    /// The minimum size of a first piece for which the announced length is looked up: a smaller first piece is usually
    /// the whole content.
    static let smallPiece = 16 << 10

    /// Appends a piece; `announced` gives the whole length, if it is known, and is called at most once.
    mutating func append(_ bytes: UnsafeRawBufferPointer, announced length: () -> Int64?) {
        guard data != nil || bytes.count >= Self.smallPiece else {
            data = Data(bytes)
            return
        }
        let known: Int?
        if let announced {
            known = announced
        } else {
            known = length().map(Int.init(clamping:))
            announced = .some(known)
        }
        let count = (data?.count ?? 0) + bytes.count
        if let known, count > capacity {
            capacity = max(count, min(known, max(2 * capacity, count + Self.reserve)))
            if data == nil { data = Data(capacity: capacity) } else { data?.reserveCapacity(capacity) }
        }
        if data == nil { data = Data(bytes) } else { data?.append(contentsOf: bytes) }
    }
}
