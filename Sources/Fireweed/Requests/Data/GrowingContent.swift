// Content that grows in memory.

import Foundation

/// Content whose length may be announced: memory of that size is made, but little more than what has come.
///
/// Memory is made for 1 MiB more than what has come at most, and memory that is full is doubled up to the announced
/// length: a peer that announces more than it sends costs twice what it sends, and 1 MiB.
struct GrowingContent {
    /// `nil` before the first byte.
    private(set) var data: Data?
    /// The bytes for which memory was made.
    private(set) var capacity = 0
    private var announced: Int??

    /// The bytes that are reserved ahead of what has come.
    static let reserve = 1 << 20
    /// A first piece of fewer bytes is all content as a rule, and the length of the content need not be found out.
    static let smallPiece = 16 << 10

    /// Appends a piece; `announced` gives the whole length, if it is known, and is asked once at most.
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
