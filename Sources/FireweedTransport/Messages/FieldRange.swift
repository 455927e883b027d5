// The positions of fields in the bytes of a section.

/// The offsets of one field's name and value, from the start of the bytes that they belong to.
struct FieldRange {
    var nameStart: UInt32
    var nameEnd: UInt32
    /// Without the white space before the value.
    var valueStart: UInt32
    /// Without the white space after the value.
    var valueEnd: UInt32

    /// The number of bytes of one entry in a head's table.
    static let byteCount = MemoryLayout<FieldRange>.size

    /// The name in the bytes that the offsets belong to.
    func name(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[Int(nameStart)..<Int(nameEnd)])
    }

    /// The value in the bytes that the offsets belong to.
    func value(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[Int(valueStart)..<Int(valueEnd)])
    }
}
