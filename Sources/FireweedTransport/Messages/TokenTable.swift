// The bytes of tokens, for names that are read byte by byte.

/// `UInt8.isTokenByte` as a table, for speed: most bytes that are examined one by one are in the names of a head.
enum TokenTable {
    /// A digit for each byte, 32 in a line: 1 where it may be in a token (RFC 9110 §5.6.2).
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
