// The end of the coding `zstd`.

import CZstd

/// Looks for the end of Zstandard frames (RFC 8878); content may have several frames one after the other.
final class ZstandardEnd: ContentCodingEnd {
    private let decoder: OpaquePointer
    private var isMalformed = false
    private var isBetweenFrames = false

    var isWhole: Bool { isBetweenFrames || isMalformed }

    /// `nil` when there is no memory.
    init?() {
        guard let decoder = ZSTD_createDStream() else { return nil }
        self.decoder = decoder
    }

    deinit { ZSTD_freeDStream(decoder) }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard !isMalformed, !bytes.isEmpty else { return }
        var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        withUnsafeTemporaryAllocation(
            byteCount: ContentCodingEnds.outputByteCount, alignment: 1
        ) { buffer in
            while true {
                var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
                let result = ZSTD_decompressStream(decoder, &output, &input)
                guard ZSTD_isError(result) == 0 else { return isMalformed = true }
                // Zero: the frame is decoded, and all of its content was handed over.
                isBetweenFrames = result == 0
                // Where the output was filled, the decoder may hold more of it.
                if input.pos == input.size, result == 0 || output.pos < output.size { return }
            }
        }
    }
}
