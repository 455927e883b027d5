// The end of the coding `br`.

import CBrotliDecoder

/// Looks for the end of a brotli stream (RFC 7932).
final class BrotliEnd: ContentCodingEnd {
    private let decoder: OpaquePointer
    private(set) var isWhole = false

    /// `nil` when there is no memory.
    init?() {
        guard let decoder = BrotliDecoderCreateInstance(nil, nil, nil) else { return nil }
        self.decoder = decoder
    }

    deinit { BrotliDecoderDestroyInstance(decoder) }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard !isWhole, !bytes.isEmpty else { return }
        var inputCount = bytes.count
        var input = bytes.bindMemory(to: UInt8.self).baseAddress
        let capacity = ContentCodingEnds.outputByteCount
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { buffer in
            while true {
                var outputCount = buffer.count
                var output = buffer.baseAddress
                let result = BrotliDecoderDecompressStream(
                    decoder, &inputCount, &input, &outputCount, &output, nil)
                if result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT { continue }
                return isWhole = result != BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT
            }
        }
    }
}
