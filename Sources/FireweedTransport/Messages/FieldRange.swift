// The positions of fields in the bytes of a section.

/// The offsets of one field's name and value in the bytes of a section.
struct FieldRange {
    var nameStart: UInt32
    var nameEnd: UInt32
    /// The start of the value, after leading white space.
    var valueStart: UInt32
    /// The end of the value, before trailing white space.
    var valueEnd: UInt32

    /// The size of one entry in a head's table, in bytes.
    static let byteCount = MemoryLayout<FieldRange>.size

    /// Returns the offsets of the same field in other bytes, in which its name begins at `start`.
    func moved(to start: Int) -> FieldRange {
        func moved(_ offset: UInt32) -> UInt32 { offset - nameStart + UInt32(start) }
        return FieldRange(
            nameStart: UInt32(start), nameEnd: moved(nameEnd), valueStart: moved(valueStart), valueEnd: moved(valueEnd))
    }

    /// Returns the name; `bytes` must be the bytes that the offsets refer to.
    func name(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[Int(nameStart)..<Int(nameEnd)])
    }

    /// Returns the value; `bytes` must be the bytes that the offsets refer to.
    func value(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[Int(valueStart)..<Int(valueEnd)])
    }
}
