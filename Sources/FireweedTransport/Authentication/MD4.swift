// MD4, for NTLM, the only protocol here that still needs it.

/// MD4 (RFC 1320), which OpenSSL 3 has only in a separate "legacy" module, which may be missing.
///
/// NTLM derives its key from the password with MD4. MD4 is broken, and gives no security.
enum MD4 {
    /// Returns the digest of 16 bytes.
    static func digest(of message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        bytes += [UInt8](repeating: 0, count: (120 - bytes.count % 64) % 64)
        bytes += withUnsafeBytes(of: UInt64(message.count * 8).littleEndian) { Array($0) }
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
        for start in stride(from: 0, to: bytes.count, by: 64) {
            let words = (0..<16).map { word in
                (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[start + word * 4 + $1]) << UInt32($1 * 8) }
            }
            state = zip(state, mixed(state, words)).map { $0 &+ $1 }
        }
        return state.flatMap { withUnsafeBytes(of: $0.littleEndian) { Array($0) } }
    }

    private static let order: [[Int]] = [
        Array(0..<16), [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
        [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
    ]
    private static let shifts: [[UInt32]] = [[3, 7, 11, 19], [3, 5, 9, 13], [3, 9, 11, 15]]
    private static let constants: [UInt32] = [0, 0x5A82_7999, 0x6ED9_EBA1]

    /// Runs the three rounds of RFC 1320 §3.4.
    private static func mixed(_ state: [UInt32], _ words: [UInt32]) -> [UInt32] {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        for round in 0..<3 {
            for step in 0..<16 {
                let mix =
                    switch round {
                    case 0: (b & c) | (~b & d)
                    case 1: (b & c) | (b & d) | (c & d)
                    default: b ^ c ^ d
                    }
                let sum = a &+ mix &+ words[order[round][step]] &+ constants[round]
                let shift = shifts[round][step % 4]
                (a, d, c, b) = (d, c, b, sum << shift | sum >> (32 - shift))
            }
        }
        return [a, b, c, d]
    }
}
