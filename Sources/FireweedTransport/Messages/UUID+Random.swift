// Random identifiers.

package import Foundation

extension UUID {
    /// A random identifier (RFC 9562 §5.4) that needs no descriptor.
    ///
    /// Foundation's initialiser reads a device. In a process that is out of descriptors it gives the same identifier
    /// every time: temporary files, sessions and owners of locks would be taken for one another.
    package static func random() -> UUID {
        let high = UInt64.random(in: 0 ... .max) & ~0xF000 | 0x4000
        let low = UInt64.random(in: 0 ... .max) & ~(0b11 << 62) | 0b10 << 62
        return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.load(as: uuid_t.self)) }
    }
}
