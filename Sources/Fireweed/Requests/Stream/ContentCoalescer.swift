// Joins small pieces of content to large ones.

import Foundation

/// Joins consecutive pieces of exactly 16 KiB into larger ones, since each piece costs a thread hop.
///
/// A piece of another size probably ends the content that the server has sent so far, and is passed on immediately: so
/// a server that sends one value in each chunk is read chunk by chunk. If one read of the socket has more than 64
/// chunks, the transport joins them. For use on one thread at a time.
struct ContentCoalescer: Sendable {
    /// The size of a piece that more content probably follows: the default limit of a DATA frame (RFC 9113 §4.2).
    private static let cut = 16 * 1024
    private var block: ContentBlock?

    /// Whether content is held back, to be joined with the next piece.
    var isOpen: Bool { (block?.count ?? 0) > 0 }

    /// Adds a piece; returns the content to pass on now, or `nil` when the piece is held back.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Data? {
        guard bytes.count <= block?.room ?? ContentBlock.capacity else { return (take() ?? Data()) + bytes }
        let block = self.block ?? ContentBlock()
        self.block = block
        _ = block.append(bytes)
        return bytes.count == Self.cut && block.room >= Self.cut ? nil : take()
    }

    /// Takes the content that was held back; `nil` when there is none.
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
