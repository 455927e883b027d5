// Random identifiers.

package import Foundation

extension UUID {
    /// Returns a random identifier (RFC 9562 §5.4), without opening a file descriptor.
    ///
    /// Foundation's initialiser reads a device. In a process that has no free descriptors, it returns the same
    /// identifier every time: temporary files, sessions and lock owners would be confused with each other.
    package static func random() -> UUID {
        let high = UInt64.random(in: 0 ... .max) & ~0xF000 | 0x4000
        let low = UInt64.random(in: 0 ... .max) & ~(0b11 << 62) | 0b10 << 62
        return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.load(as: uuid_t.self)) }
    }
}
