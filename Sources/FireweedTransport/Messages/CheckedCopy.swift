// Copies of bytes that never write past the end of their buffer.

extension UnsafeMutableRawBufferPointer {
    /// Copies bytes to the beginning; more of them than there is room for end the process.
    ///
    /// The standard library's methods check that in debug builds only; in release builds they write past the buffer.
    @inline(__always)
    package func checkedCopy(from source: UnsafeRawBufferPointer) {
        precondition(source.count <= count, "more bytes than there is room for")
        copyMemory(from: source)
    }

    /// Copies a collection in the same way.
    @inline(__always)
    package func checkedCopy(from source: some Collection<UInt8>) {
        precondition(source.count <= count, "more bytes than there is room for")
        copyBytes(from: source)
    }
}
