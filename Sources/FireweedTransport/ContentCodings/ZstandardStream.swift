// The content coding `zstd`, by Facebook's decoder.

#if Zstd
import CZstd

/// Decodes a sequence of Zstandard frames (RFC 8878).
final class ZstandardStream: ContentCodingStream {
    private let decoder: OpaquePointer
    private var isBetweenFrames = true
    /// Whether the last call filled the output: the decoder may hold more.
    private var isOutputFull = false
    /// The largest window of a frame in HTTP content: 8 MiB (RFC 9659 §3).
    static let maximumWindowBits: Int32 = 23

    var isWhole: Bool { isBetweenFrames }

    /// The version of the loaded library, such as `1.5.4`.
    static var libraryVersion: String { String(cString: ZSTD_versionString()) }

    /// Makes a decoder; `nil` if memory has run out.
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
            // Zero means that the frame is decoded and all of its content was written.
            isBetweenFrames = result == 0
            isOutputFull = result != 0 && sink.pos == sink.size
            input = input.advanced(by: source.pos)
            if sink.pos > 0 { return sink.pos }
        }
    }

    /// Whether a frame or a skippable frame can begin with this byte (RFC 8878 §3.1).
    ///
    /// This check excludes the formats of library versions before 0.8. No content uses them, but the library still
    /// decodes them, with old decoders whose errors depend on how the input is divided.
    private static func beginsFrame(_ byte: UInt8) -> Bool {
        byte == 0x28 || 0x50...0x5F ~= byte
    }
}
#endif
