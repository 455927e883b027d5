// The content passed to a consumer.

/// Bytes of a response's content, valid for one call of a consumer.
public struct ContentBytes: ~Copyable {
    /// The bytes; valid while this value exists.
    public let bytes: UnsafeRawBufferPointer

    /// Wraps bytes that the caller keeps unchanged while this value exists.
    public init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The number of bytes.
    public var count: Int { bytes.count }
}
