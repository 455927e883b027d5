// An `InputStream` as the content of a request.

public import Foundation

/// Reads an `InputStream` to its end.
///
/// A stream can be read only once: a second exchange needs another stream.
public final class StreamBodyReader: BodyReader, @unchecked Sendable {
    /// The length that the caller announced; `nil` if it announced none.
    public let byteCount: Int64?
    // SAFETY: after `init` the stream is used only by `read`, one call at a time.
    private let stream: InputStream
    private var isOpen = false

    /// Makes a reader of a stream that has no other reader.
    ///
    /// The first read opens the stream.
    ///
    /// - Parameters:
    ///   - stream: the stream.
    ///   - byteCount: the stream's length in bytes; `nil`, the default, if it is unknown.
    public init(opening stream: InputStream, byteCount: Int64? = nil) {
        self.stream = stream
        self.byteCount = byteCount
    }

    deinit {
        if isOpen { stream.close() }
    }

    /// Reads the next bytes; throws the stream's error.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        BlockingCall.check("an InputStream")
        if !isOpen {
            isOpen = true
            if stream.streamStatus == .notOpen { stream.open() }
        }
        guard let start = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
        let count = stream.read(start, maxLength: buffer.count)
        guard count >= 0 else { throw stream.streamError ?? CocoaError(.fileReadUnknown) }
        return count
    }
}
