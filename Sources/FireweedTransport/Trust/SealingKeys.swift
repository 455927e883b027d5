// The rotation of sealing keys.

package import Foundation

/// The keys of sealed data: the first key seals, and every key can open.
///
/// To replace a key while processes run, change the keys of all processes in three steps: add the new key after the old
/// key, then put the new key first, then remove the old key. At each step every process can open all data.
package struct SealingKeys: Sendable {
    private let keys: [[UInt8]]

    /// Takes keys of 32 bytes; `nil` if a key has another length, or if there is no key.
    package init?(_ keys: [Data]) {
        guard !keys.isEmpty, keys.allSatisfy({ $0.count == SealedData.keyByteCount }) else { return nil }
        self.keys = keys.map { Array($0) }
    }

    /// Encrypts data with the first key, and binds it to a context; `nil` if OpenSSL fails.
    package func seal(_ plain: [UInt8], context: [UInt8]) -> [UInt8]? {
        SealedData.seal(plain, context: context, key: keys[0])
    }

    /// Decrypts data that one of the keys sealed with the same context; `nil` for any other data.
    package func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? {
        for key in keys {
            if let plain = SealedData.open(sealed, context: context, key: key) { return plain }
        }
        return nil
    }
}
