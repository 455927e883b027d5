// The end of coded content, for responses that end when their connection closes.

import CZlib

/// Looks for the end of a `gzip` or `deflate` stream in the bytes of a response's content (RFC 9110 §8.4.1).
///
/// Content that is delimited by the close of the connection has no length to compare with (RFC 9112 §8): only the
/// coding tells whole content from content that was cut. The bytes are decoded and thrown away. Used on one thread.
final class ContentCodingEnd {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isOpen = false
    /// The first byte of `deflate` content, until the second one shows whether a zlib header is there.
    private var firstByte: UInt8?
    private var mayBeRaw: Bool
    /// Whether the content so far is whole; content that is malformed counts as whole, since whoever decodes it fails
    /// by itself.
    private(set) var isWhole = false

    /// `nil` for codings whose end cannot be found here: others, and several at once.
    init?(coding: String) {
        switch coding.lowercased() {
        case "gzip", "x-gzip": mayBeRaw = false
        case "deflate": mayBeRaw = true  // a zlib stream by the RFC, and a bare one from some servers
        default:
            stream.deallocate()
            return nil
        }
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    /// Takes the next bytes of the content, as they came.
    func append(_ bytes: UnsafeRawBufferPointer) {
        guard !isWhole, !bytes.isEmpty else { return }
        if mayBeRaw, !isOpen {
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
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32 * 1024) { output in
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
