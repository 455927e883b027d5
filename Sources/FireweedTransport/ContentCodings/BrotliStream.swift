// The content coding `br`, by Google's decoder.

#if Brotli
import CBrotliDecoder

/// Decodes a brotli stream (RFC 7932); no bytes may follow its end.
final class BrotliStream: ContentCodingStream {
    private let decoder: OpaquePointer
    private var isUntouched = true
    private var hasEnded = false

    var isWhole: Bool { isUntouched || hasEnded }

    /// The version of the loaded library, whose number has 8 bits for the major version and 12 for each of the others.
    static var libraryVersion: String {
        let version = BrotliDecoderVersion()
        return "\(version >> 24).\(version >> 12 & 0xFFF).\(version & 0xFFF)"
    }

    /// Makes a decoder; `nil` if memory has run out.
    init?() {
        guard let decoder = BrotliDecoderCreateInstance(nil, nil, nil) else { return nil }
        self.decoder = decoder
    }

    deinit { BrotliDecoderDestroyInstance(decoder) }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> Int {
        guard !hasEnded else {
            guard input.isEmpty else { throw .badCoding("br", "something follows its end") }
            return 0
        }
        if isUntouched, input.isEmpty { return 0 }
        isUntouched = false
        var inputCount = input.count
        var next = input.bindMemory(to: UInt8.self).baseAddress
        var room = output.count
        var place = output.bindMemory(to: UInt8.self).baseAddress
        let result = BrotliDecoderDecompressStream(decoder, &inputCount, &next, &room, &place, nil)
        input = input.advanced(by: input.count - inputCount)
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS:
            hasEnded = true
            guard input.isEmpty || room < output.count else { throw .badCoding("br", "something follows its end") }
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: break
        default:
            let code = BrotliDecoderGetErrorCode(decoder)
            throw .badCoding("br", BrotliDecoderErrorString(code).map { String(cString: $0) } ?? "it is malformed")
        }
        return output.count - room
    }
}
#endif
