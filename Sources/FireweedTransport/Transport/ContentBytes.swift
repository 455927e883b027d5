// Content on its way to a consumer.

/// Bytes of a response's content, lent to a consumer for one call.
public struct ContentBytes: ~Copyable {
    /// The bytes; they are valid as long as the value is.
    public let bytes: UnsafeRawBufferPointer

    /// Lends bytes, which the caller keeps as they are meanwhile.
    public init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// How many bytes it has.
    public var count: Int { bytes.count }
}
