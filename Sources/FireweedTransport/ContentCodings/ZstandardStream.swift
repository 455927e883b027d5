// The coding `zstd`, by Facebook's decoder.

#if Zstd
import CZstd

/// Decodes Zstandard frames, one after the other (RFC 8878).
final class ZstandardStream: ContentCodingStream {
    private let decoder: OpaquePointer
    private var isBetweenFrames = true
    /// Whether the last output was filled: the decoder may hold more.
    private var isOutputFull = false
    /// RFC 9659 §3: content has frames with a window of at most 8 MiB.
    static let maximumWindowBits: Int32 = 23

    var isWhole: Bool { isBetweenFrames }

    /// The version of the library that is loaded, as `1.5.4`.
    static var libraryVersion: String { String(cString: ZSTD_versionString()) }

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
            if isBetweenFrames, let first = input.first, !Self.beginsFrame(first) {
                throw .badCoding("zstd", "something that is not a frame of RFC 8878 is in it")
            }
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

    /// Whether a frame, or a skippable frame, may begin with this byte (RFC 8878 §3.1).
    ///
    /// The library also decodes the formats of its versions before 0.8, which no content uses: those decoders are old,
    /// and what they refuse depends on how the input is split.
    private static func beginsFrame(_ byte: UInt8) -> Bool {
        byte == 0x28 || 0x50...0x5F ~= byte
    }
}
#endif
