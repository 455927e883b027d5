// The encryption of stored responses.

package import FireweedTransport

/// Encrypts the values under one key of the server, with AES-256-GCM.
///
/// The server's key, which contains the namespace, the partition and a digest of the response's key, is authenticated
/// with each value: a value that was copied to another key cannot be decrypted.
package struct FleetSeal: Sendable {
    private let keys: SealingKeys
    private let place: [UInt8]

    /// Makes the seal of a key of the server.
    package init(_ keys: SealingKeys, place: RESPArgument) {
        self.keys = keys
        self.place = place.bytes
    }

    /// Encrypts a part of a stored response; `nil` when OpenSSL fails.
    func seal(_ plain: [UInt8], as part: [UInt8]) -> [UInt8]? {
        keys.seal(plain, context: part + place)
    }

    /// Decrypts a part; `nil` if the bytes are not that part under this key.
    func open(_ sealed: ArraySlice<UInt8>, as part: [UInt8]) -> [UInt8]? {
        keys.open(Array(sealed), context: part + place)
    }
}
