// Compression and decompression of WebSocket messages, by zlib.

import CZlib

/// Compresses messages (RFC 7692 §7.2.1).
///
/// Used on the loop's thread only.
package final class MessageDeflater {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let takesContextOver: Bool

    /// Makes a compressor; `nil` if zlib refuses.
    ///
    /// zlib does not support raw streams with a window of 8 bits. Messages are then sent uncompressed, which is
    /// allowed.
    package init?(windowBits: Int, takesContextOver: Bool) {
        self.takesContextOver = takesContextOver
        stream.initialize(to: z_stream())
        guard windowBits > 8,
            deflateInit2_(
                stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, Int32(-windowBits), 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else { return nil }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Returns the compressed message, without the four bytes at the end of every sync flush.
    package func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var output: [UInt8] = []
        let bound = Int(deflateBound(stream, UInt(bytes.count))) + 16
        output.reserveCapacity(bound)
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(clamping: bytes.count)
        repeat {
            output.append(contentsOf: piece(of: max(bound - output.count, 64)))
        } while stream.pointee.avail_out == 0
        if output.suffix(4).elementsEqual([0, 0, 0xFF, 0xFF]) { output.removeLast(4) }
        if !takesContextOver { deflateReset(stream) }
        return output
    }

    private func piece(of size: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(size)
            deflate(stream, Z_SYNC_FLUSH)
            count = size - Int(stream.pointee.avail_out)
        }
    }
}

/// Decompresses messages piece by piece, as they arrive (RFC 7692 §7.2.2).
///
/// Used on the loop's thread only.
package final class MessageInflater {
    package enum Fault: Error { case malformed, tooLong }

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    /// zlib's output buffer: without it, room at the end of the message would be filled with zeros for each piece.
    private let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 16 * 1024)
    private let takesContextOver: Bool
    private let limit: Int

    /// Makes a decompressor; `limit` is the most bytes of a decompressed message.
    package init?(windowBits: Int, takesContextOver: Bool, limit: Int) {
        self.takesContextOver = takesContextOver
        self.limit = limit
        stream.initialize(to: z_stream())
        // zlib's inflate does not support a raw window of 8 bits; a window that is larger than the peer's works too.
        let bits = Int32(-max(windowBits, 9))
        guard inflateInit2_(stream, bits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        room.deallocate()
    }

    /// Decompresses a piece of a message, and appends the result to `output`, the message so far.
    package func append(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) throws(Fault) {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(clamping: bytes.count)
        repeat {
            let code = step(&output)
            // The limit is checked before the code: otherwise the fault would depend on how the bytes are divided.
            guard output.count <= limit else { throw .tooLong }
            guard code == Z_OK || code == Z_BUF_ERROR || code == Z_STREAM_END else { throw .malformed }
            if code == Z_STREAM_END {
                // The peer may mark a block as final, although the message continues (§7.2.3.4).
                inflateReset(stream)
            } else if code == Z_BUF_ERROR {
                break
            }
        } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
    }

    /// Decompresses the four bytes that every compressed message omits, and prepares for the next message.
    package func finish(_ output: inout [UInt8]) throws(Fault) {
        let tail: [UInt8] = [0, 0, 0xFF, 0xFF]
        try tail.withUnsafeBufferPointer { bytes throws(Fault) in
            try append(UnsafeRawBufferPointer(bytes), to: &output)
        }
        if !takesContextOver { inflateReset(stream) }
    }

    private func step(_ output: inout [UInt8]) -> Int32 {
        stream.pointee.next_out = room.baseAddress
        stream.pointee.avail_out = UInt32(room.count)
        let code = inflate(stream, Z_SYNC_FLUSH)
        output.append(contentsOf: UnsafeBufferPointer(rebasing: room.dropLast(Int(stream.pointee.avail_out))))
        return code
    }
}
