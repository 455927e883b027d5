// SHA-1, for protocols that still need it.

import COpenSSL

/// SHA-1, for WebSocket handshakes (RFC 6455 §4.2.2) and the names of Redis scripts; not used for security.
package enum SHA1 {
    /// The 20 bytes of the digest.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        COpenSSL.SHA1(bytes, bytes.count, &digest)
        return digest
    }
}
