// Texts of messages, byte by byte.

extension UnsafeBufferPointer<UInt8> {
    /// Whether there are one or more bytes, all of which a token may have (RFC 9110 §5.6.2).
    var isToken: Bool { !isEmpty && allSatisfy(TokenTable.contains) }

    /// Whether one of the bytes is a control character other than tab.
    var hasControl: Bool {
        var found: UInt8 = 0
        // All bytes are looked at, sixteen at a time.
        for index in indices {
            let byte = self[index]
            found |= (byte < 0x20 ? 1 : 0) & (byte == 0x09 ? 0 : 1) | (byte == 0x7F ? 1 : 0)
        }
        return found != 0
    }
}

extension String {
    /// Calls `body` with the UTF-8 bytes; a native string is not copied.
    @inline(__always)
    func withBytes<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        if let value = utf8.withContiguousStorageIfAvailable(body) { return value }
        return Array(utf8).withUnsafeBufferPointer(body)
    }

    /// Whether the text has one or more bytes, all of which a token may have (RFC 9110 §5.6.2).
    package var isToken: Bool { withBytes(\.isToken) }

    /// Whether the text has no line break and no NUL, with which a value could forge a field or a message.
    package var staysInLine: Bool { withBytes { $0.allSatisfy { $0 > 0x0D || $0 != 0x0D && $0 != 0x0A && $0 != 0 } } }

    /// Compares as field names are compared: ASCII letters without case, everything else byte by byte.
    package func isEqualIgnoringASCIICase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withBytes { left in
            other.withBytes { right in
                for index in left.indices where left[index] != right[index] {
                    let isLetter = (0x61...0x7A).contains(left[index] | 0x20)
                    guard isLetter, left[index] ^ right[index] == 0x20 else { return false }
                }
                return true
            }
        }
    }
}
