// The coding `zstd`, by Facebook's decoder.

import CZstd

/// Decodes Zstandard frames, one after the other (RFC 8878).
final class ZstandardStream: ContentCodingStream {
    private let decoder: OpaquePointer
    private var isBetweenFrames = true
    /// The last output was filled: the decoder may hold more of it.
    private var isOutputFull = false
    /// RFC 9659 §3: content has frames with a window of at most 8 MiB.
    private static let maximumWindowBits: Int32 = 23

    var isWhole: Bool { isBetweenFrames }

    /// `nil` when there is no memory.
    init?() {
        guard let decoder = ZSTD_createDStream() else { return nil }
        self.decoder = decoder
        ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, Self.maximumWindowBits)
    }

    deinit { ZSTD_freeDStream(decoder) }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> Int {
        while true {
            if input.isEmpty, !isOutputFull { return 0 }
            var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
            var sink = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
            let result = ZSTD_decompressStream(decoder, &sink, &source)
            guard ZSTD_isError(result) == 0 else {
                throw .badCoding("zstd", String(cString: ZSTD_getErrorName(result)))
            }
            // Zero: the frame is decoded, and all of its content was handed over.
            isBetweenFrames = result == 0
            isOutputFull = result != 0 && sink.pos == sink.size
            input = input.advanced(by: source.pos)
            if sink.pos > 0 { return sink.pos }
        }
    }
}
