// Content on its way to a consumer.

/// Bytes of a response's content, lent to a consumer for one call.
public struct ContentBytes: ~Copyable {
    /// The bytes, which are valid while this value exists.
    public let bytes: UnsafeRawBufferPointer

    /// Lends bytes, which the caller must keep unchanged while this value exists.
    public init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The number of bytes.
    public var count: Int { bytes.count }
}
