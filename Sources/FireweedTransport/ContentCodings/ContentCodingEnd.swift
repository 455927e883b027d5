// The end of coded content, for responses that end when their connection closes.

/// Looks for the end of a content coding in the bytes of a response's content (RFC 9110 §8.4.1).
///
/// Content that is delimited by the close of the connection has no length to compare with (RFC 9112 §8): only the
/// coding distinguishes complete content from content that was cut. The bytes are decoded and the result is dropped.
/// Used on one thread.
final class ContentCodingEnd {
    private let stream: any ContentCodingStream
    private var isMalformed = false
    private var isUntouched = true

    private init(_ stream: any ContentCodingStream) {
        self.stream = stream
    }

    /// Whether the content so far is complete; without a byte it is not.
    ///
    /// Malformed content counts as complete: the decoder reports it.
    var isWhole: Bool { isMalformed || (!isUntouched && stream.isWhole) }

    /// What looks for the end of a coding; `nil` for unknown codings, and for several at once.
    static func end(of coding: String) -> ContentCodingEnd? {
        ContentDecoder.stream(of: coding).map(ContentCodingEnd.init)
    }

    /// Takes the next bytes of the content, as they came on the connection.
    func append(_ bytes: UnsafeRawBufferPointer) {
        guard !isMalformed, !bytes.isEmpty else { return }
        isUntouched = false
        var rest = bytes
        withUnsafeTemporaryAllocation(byteCount: ContentDecoder.pieceByteCount, alignment: 1) { output in
            do throws(TransferFailure) {
                while try stream.decode(&rest, into: output) > 0 {}
            } catch {
                isMalformed = true
            }
        }
    }
}
