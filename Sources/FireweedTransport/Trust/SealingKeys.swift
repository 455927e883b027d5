// Keys that are replaced one after the other.

package import Foundation

/// The keys of sealed data: the first key seals, and every key opens.
///
/// To replace a key while processes run: first all processes get the new key after the old one, then the new key before
/// the old one, and at last the new key alone. So no process ever has to open data that it cannot.
package struct SealingKeys: Sendable {
    private let keys: [[UInt8]]

    /// Takes keys of 32 bytes; `nil` for a key of another length, and for none.
    package init?(_ keys: [Data]) {
        guard !keys.isEmpty, keys.allSatisfy({ $0.count == SealedData.keyByteCount }) else { return nil }
        self.keys = keys.map { Array($0) }
    }

    /// Encrypts data with the first key, and binds it to a context; `nil` when OpenSSL fails.
    package func seal(_ plain: [UInt8], context: [UInt8]) -> [UInt8]? {
        SealedData.seal(plain, context: context, key: keys[0])
    }

    /// Decrypts what one of the keys has sealed for the same context; `nil` for anything else.
    package func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? {
        for key in keys {
            if let plain = SealedData.open(sealed, context: context, key: key) { return plain }
        }
        return nil
    }
}
