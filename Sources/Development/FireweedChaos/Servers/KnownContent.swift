// Content that is generated from a number: the server sends the content, and the judge compares it.

import FireweedTesting
import Foundation

/// The bytes of a numbered resource: a block of 4 KiB that depends on the number, repeated, with the index of each copy
/// mixed into its first 8 bytes.
///
/// Comparing the bytes therefore detects a block that is missing, repeated or from another resource.
enum KnownContent {
    private static let blockByteCount = 4_096

    static func bytes(id: Int, count: Int) -> Data {
        var random = SeededGenerator(seed: UInt64(truncatingIfNeeded: id))
        var block = (0..<(blockByteCount / 8)).map { _ in random.next() }
        let first = block[0]
        var data = Data(capacity: count + blockByteCount)
        while data.count < count {
            block[0] = first ^ UInt64(data.count / blockByteCount)
            block.withUnsafeBytes { data.append(contentsOf: $0) }
        }
        return data.prefix(count)
    }

    /// Returns the CRC-32 (ISO 3309), computed without zlib: the server uses zlib, and the same fault on both sides
    /// would not be found.
    static func checksum(_ data: Data) -> UInt {
        var value: UInt32 = 0xFFFF_FFFF
        data.withUnsafeBytes { bytes in
            for byte in bytes { value = table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ (value >> 8) }
        }
        return UInt(value ^ 0xFFFF_FFFF)
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }

    /// The content of the server's response to an upload.
    static func receipt(byteCount: Int, checksum: UInt) -> Data {
        Data("received \(byteCount) \(checksum)".utf8)
    }
}
