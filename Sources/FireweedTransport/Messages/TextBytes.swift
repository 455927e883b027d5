// Checks and comparisons of message texts, byte by byte.

extension UnsafeBufferPointer<UInt8> {
    /// Whether the bytes are a token: not empty, and token characters only (RFC 9110 §5.6.2).
    var isToken: Bool { !isEmpty && allSatisfy(TokenTable.contains) }

    /// Whether a byte is a control character other than tab.
    var hasControl: Bool {
        var found: UInt8 = 0
        // The loop has no early exit, so that the compiler can test sixteen bytes at once.
        for index in indices {
            let byte = self[index]
            found |= (byte < 0x20 ? 1 : 0) & (byte == 0x09 ? 0 : 1) | (byte == 0x7F ? 1 : 0)
        }
        return found != 0
    }
}

extension String {
    /// Calls `body` with the UTF-8 bytes; does not copy a native string.
    @inline(__always)
    func withBytes<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        if let value = utf8.withContiguousStorageIfAvailable(body) { return value }
        return Array(utf8).withUnsafeBufferPointer(body)
    }

    /// Whether the text is a token: not empty, and token characters only (RFC 9110 §5.6.2).
    package var isToken: Bool { withBytes(\.isToken) }

    /// Whether the text has no CR, LF or NUL, with which a value could inject a field or a message.
    package var staysInLine: Bool { withBytes { $0.allSatisfy { $0 > 0x0D || $0 != 0x0D && $0 != 0x0A && $0 != 0 } } }

    /// Whether another text is equal, ignoring the case of ASCII letters only, as for field names.
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
