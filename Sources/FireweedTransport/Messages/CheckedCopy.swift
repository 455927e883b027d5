// Copies of bytes that never write past the end of a buffer.

extension UnsafeMutableRawBufferPointer {
    /// Copies bytes to the start of this buffer; ends the process if they do not fit.
    ///
    /// The standard library's methods check this in debug builds only; in release builds they write past the end.
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
