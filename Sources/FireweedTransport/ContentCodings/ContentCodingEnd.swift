// The end of coded content, for responses that end when their connection closes.

/// Looks for the end of a content coding in the bytes of a response's content (RFC 9110 §8.4.1).
///
/// Content that is delimited by the close of the connection has no length to compare with (RFC 9112 §8): only the
/// coding distinguishes complete content from content that was cut. The bytes are decoded and the result is dropped.
/// Used on one thread.
protocol ContentCodingEnd: AnyObject {
    /// Whether the content so far is complete.
    ///
    /// Malformed content counts as complete: the decoder reports it.
    var isWhole: Bool { get }

    /// Takes the next bytes of the content, as they came on the connection.
    func append(_ bytes: UnsafeRawBufferPointer)
}

enum ContentCodingEnds {
    /// What looks for the end of a coding; `nil` for unknown codings, and for several at once.
    static func end(of coding: String) -> (any ContentCodingEnd)? {
        switch coding.lowercased() {
        case "gzip", "x-gzip": DeflateEnd(isGzip: true)
        case "deflate": DeflateEnd(isGzip: false)
        case "br": BrotliEnd()
        case "zstd": ZstandardEnd()
        default: nil
        }
    }

    /// How much is decoded at once.
    static let outputByteCount = 32 * 1024
}
