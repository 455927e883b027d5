// Stored responses as bytes in the fleet's server.

package import Fireweed
import FireweedTransport
package import Foundation

/// The head of a stored response as it is kept in the server.
///
/// The format: a version byte, the content's length in eight bytes, a checksum of eight bytes, and the encoded head.
/// The checksum covers the key and the head, so that a value under another key is rejected. With a seal, the version
/// differs, and the encrypted head follows the length. Other programs may write values into the server: reading returns
/// `nil` if the version is another one, or the checksum or the seal does not fit. Neither covers the length, since the
/// update script keeps the stored length; a content of another length is rejected.
package struct FleetEntry: Sendable {
    package let head: StoredHead
    package let contentByteCount: Int

    /// The version of values in clear text; values of another version are not read.
    private static let version: UInt8 = 2
    private static let sealedVersion: UInt8 = 3
    /// The number of unencrypted bytes: version and length, or version and identifier.
    private static let clearByteCount = 9
    /// The number of bytes before the head: version, length and check.
    private static let prefixByteCount = 17

    package init(head: StoredHead, contentByteCount: Int) {
        self.head = head
        self.contentByteCount = contentByteCount
    }

    /// Reads the head of a key's response; with a seal, only an encrypted head.
    package init?(_ bytes: [UInt8], of key: String, seal: FleetSeal? = nil) {
        if let seal {
            self.init(bytes, by: seal)
            return
        }
        guard bytes.count > Self.prefixByteCount, bytes[0] == Self.version,
            let count = Int(exactly: Self.number(bytes[1..<9])),
            bytes[9..<17].elementsEqual(Self.check(bytes[17...], of: key)),
            let head = bytes.withUnsafeBytes({ StoredHead(encoded: UnsafeRawBufferPointer(rebasing: $0[17...])) })
        else { return nil }
        self.init(head: head, contentByteCount: count)
    }

    private init?(_ bytes: [UInt8], by seal: FleetSeal) {
        guard bytes.count > Self.clearByteCount, bytes[0] == Self.sealedVersion,
            let count = Int(exactly: Self.number(bytes[1..<9])),
            let plain = seal.open(bytes[Self.clearByteCount...], as: Self.headPart),
            let head = plain.withUnsafeBytes({ StoredHead(encoded: $0) })
        else { return nil }
        self.init(head: head, contentByteCount: count)
    }

    private static let headPart = Array("head ".utf8)

    /// Encodes the head; `nil` when it cannot be encrypted.
    package func encoded(for key: String, seal: FleetSeal? = nil) -> [UInt8]? {
        let head = [UInt8](head.encoded)
        if let seal {
            return seal.seal(head, as: Self.headPart).map {
                [Self.sealedVersion] + Self.bytes(of: UInt64(contentByteCount)) + $0
            }
        }
        return [Self.version] + Self.bytes(of: UInt64(contentByteCount)) + Self.check(head[...], of: key) + head
    }

    /// The identifier of the content, in hexadecimal digits.
    package var tag: String { String(head.identifier, radix: 16) }

    // MARK: Content

    /// Encodes a content: a version byte, the identifier of the head in eight bytes, and the content; `nil` when the
    /// content cannot be encrypted.
    package static func encoded(_ content: Data, of entry: FleetEntry, seal: FleetSeal? = nil) -> [UInt8]? {
        let identifier = bytes(of: entry.head.identifier)
        guard let seal else { return [version] + identifier + content }
        return seal.seal(Array(content), as: contentPart(identifier)).map { [sealedVersion] + identifier + $0 }
    }

    /// Reads the content of a head; `nil` if version, identifier or length differs, or the seal does not fit.
    package static func content(_ bytes: [UInt8], of entry: FleetEntry, seal: FleetSeal? = nil) -> Data? {
        let identifier = Self.bytes(of: entry.head.identifier)
        guard bytes.count >= clearByteCount, bytes[0] == (seal == nil ? version : sealedVersion),
            bytes[1..<9].elementsEqual(identifier)
        else { return nil }
        let rest = bytes[clearByteCount...]
        let content: [UInt8]? = if let seal { seal.open(rest, as: contentPart(identifier)) } else { Array(rest) }
        return content.flatMap { $0.count == entry.contentByteCount ? Data($0) : nil }
    }

    private static func contentPart(_ identifier: [UInt8]) -> [UInt8] { Array("content ".utf8) + identifier }

    // MARK: Names

    /// Returns the name of a variant: a digest of the fields that `Vary` selects, and of the credentials.
    package static func variant(of head: StoredHead) -> String {
        let variant = head.variant
        let credentials = variant.credentials.map { Data([1]) + $0 } ?? Data([0])
        let names = Data(variant.names.joined(separator: ",").utf8)
        return hexadecimal(Digest.sha256(names + [0] + variant.selection + [0] + credentials).prefix(16))
    }

    /// Returns the SHA-256 of a text in hexadecimal digits.
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
