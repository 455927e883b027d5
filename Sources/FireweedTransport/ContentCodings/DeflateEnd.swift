// The end of the codings `gzip` and `deflate`.

import CZlib

/// Looks for the end of a gzip member (RFC 1952), of a zlib stream (RFC 1950), or of a bare deflate stream (RFC 1951).
final class DeflateEnd: ContentCodingEnd {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isOpen = false
    private let isGzip: Bool
    /// The first byte of `deflate` content, until the second one shows whether a zlib header is there.
    private var firstByte: UInt8?
    private(set) var isWhole = false

    /// Without `isGzip`, a zlib stream by RFC 9110, or a bare deflate stream, as some servers send it.
    init(isGzip: Bool) {
        self.isGzip = isGzip
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard !isWhole, !bytes.isEmpty else { return }
        if !isOpen, !isGzip {
            guard let first = firstByte else {
                firstByte = bytes[0]
                return append(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
            }
            // RFC 1950 §2.2: method 8, and a multiple of 31.
            let isWrapped = first & 0x0F == 8 && (Int(first) << 8 + Int(bytes[0])) % 31 == 0
            open(windowBits: isWrapped ? 15 : -15)
            withUnsafeBytes(of: first) { inflate($0) }
        } else if !isOpen {
            open(windowBits: 15 + 16)
        }
        inflate(bytes)
    }

    private func open(windowBits: Int32) {
        isOpen = inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
        if !isOpen { isWhole = true }
    }

    private func inflate(_ bytes: UnsafeRawBufferPointer) {
        guard !isWhole else { return }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(clamping: bytes.count)
        let capacity = ContentCodingEnds.outputByteCount
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { output in
            repeat {
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                let code = CZlib.inflate(stream, Z_NO_FLUSH)
                // Z_BUF_ERROR: everything was used up already.
                guard code == Z_OK else { return isWhole = code != Z_BUF_ERROR }
            } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
        }
    }
}
