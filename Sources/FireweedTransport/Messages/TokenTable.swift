// A table of the bytes in tokens.

/// `UInt8.isTokenByte` as a table, for speed: most of the bytes that are tested singly belong to field names.
enum TokenTable {
    /// One digit for each byte, 32 in a line: 1 if the byte can be in a token (RFC 9110 §5.6.2).
    private static let digits: StaticString = """
        00000000000000000000000000000000\
        01011111001101101111111111000000\
        01111111111111111111111111100011\
        11111111111111111111111111101010\
        00000000000000000000000000000000\
        00000000000000000000000000000000\
        00000000000000000000000000000000\
        00000000000000000000000000000000\

        """

    @inline(__always)
    static func contains(_ byte: UInt8) -> Bool {
        digits.utf8Start[Int(byte)] == 0x31
    }
}
