// Stored responses as bytes in the fleet's server.

package import Fireweed
import FireweedTransport
package import Foundation

/// The head of a stored response as it is kept in the server.
///
/// A version byte, the content's length in eight bytes, a check of eight bytes, and the encoded head. The check is of
/// the key and the head, so that a value that stands under another key is not taken for a response. Whatever is in the
/// server may have been written by another program: reading gives `nil` for all but our own values.
package struct FleetEntry: Sendable {
    package let head: StoredHead
    package let contentByteCount: Int

    /// Of another version nothing is read.
    private static let version: UInt8 = 2
    /// Version, length and check.
    private static let prefixByteCount = 17

    package init(head: StoredHead, contentByteCount: Int) {
        self.head = head
        self.contentByteCount = contentByteCount
    }

    /// Reads a head of a key.
    package init?(_ bytes: [UInt8], of key: String) {
        guard bytes.count > Self.prefixByteCount, bytes[0] == Self.version,
            let count = Int(exactly: Self.number(bytes[1..<9])),
            bytes[9..<17].elementsEqual(Self.check(bytes[17...], of: key)),
            let head = bytes.withUnsafeBytes({ StoredHead(encoded: UnsafeRawBufferPointer(rebasing: $0[17...])) })
        else { return nil }
        self.init(head: head, contentByteCount: count)
    }

    package func encoded(for key: String) -> [UInt8] {
        let head = [UInt8](head.encoded)
        return [Self.version] + Self.bytes(of: UInt64(contentByteCount)) + Self.check(head[...], of: key) + head
    }

    /// The identifier of the content, in hexadecimal digits.
    package var tag: String { String(head.identifier, radix: 16) }

    // MARK: Content

    /// A version byte, the identifier of the head in eight bytes, and the content.
    package static func encoded(_ content: Data, of entry: FleetEntry) -> [UInt8] {
        [version] + bytes(of: entry.head.identifier) + content
    }

    /// Reads the content of a head; `nil` for that of another head.
    package static func content(_ bytes: [UInt8], of entry: FleetEntry) -> Data? {
        guard bytes.count >= 9, bytes[0] == version, number(bytes[1..<9]) == entry.head.identifier,
            bytes.count - 9 == entry.contentByteCount
        else { return nil }
        return Data(bytes[9...])
    }

    // MARK: Names

    /// The name of a variant: what `Vary` and credentials select, as a digest.
    package static func variant(of head: StoredHead) -> String {
        let variant = head.variant
        let credentials = variant.credentials.map { Data([1]) + $0 } ?? Data([0])
        let names = Data(variant.names.joined(separator: ",").utf8)
        return hexadecimal(Digest.sha256(names + [0] + variant.selection + [0] + credentials).prefix(16))
    }

    /// The SHA-256 of a text in hexadecimal digits.
    package static func digest(_ text: String) -> String {
        hexadecimal(Digest.sha256(Data(text.utf8))[...])
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func check(_ head: ArraySlice<UInt8>, of key: String) -> [UInt8] {
        Array(Digest.sha256(Data(key.utf8) + [0] + head).prefix(8))
    }

    private static func bytes(of number: UInt64) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
