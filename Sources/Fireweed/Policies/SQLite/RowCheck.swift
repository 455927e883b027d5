// Checksums of rows: SQLite has no checksums of its pages.

#if SQLite
import CZlib
import Foundation

/// The checksums of a row, which show damage: CRC-32, as in gzip.
///
/// They protect against flipped bits and misplaced pages. They do not protect against an attacker, who could write the
/// checksum too.
enum RowCheck {
    /// Returns the checksum of an encoded head together with its key.
    static func head(_ head: some ContiguousBytes, of key: String) -> Int {
        var key = key
        let seed = key.withUTF8 { sum(UnsafeRawBufferPointer($0), after: 0) }
        return Int(head.withUnsafeBytes { sum($0, after: seed) })
    }

    /// Returns the checksum of a content.
    static func content(_ content: some ContiguousBytes) -> Int {
        Int(content.withUnsafeBytes { sum($0, after: 0) })
    }

    private static func sum(_ bytes: UnsafeRawBufferPointer, after seed: UInt) -> UInt {
        crc32_z(seed, bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count)
    }
}
#endif
