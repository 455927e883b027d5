// The reason in a close frame.

package import Foundation

/// The text after the code of a close frame (RFC 6455 §5.5.1).
package enum CloseReason {
    /// A control frame has 125 bytes of content at most (§5.5), two of which are the code.
    package static let maximumByteCount = 123

    /// The reason as far as a close frame can hold it.
    ///
    /// UTF-8 is cut at the end of a character: a peer has to refuse a reason that is not UTF-8 (§8.1).
    package static func fitting(_ reason: Data) -> [UInt8] {
        let bytes = Array(reason)
        guard bytes.count > maximumByteCount else { return bytes }
        // Where the first byte that does not fit continues a character, the character begins at most three bytes
        // before.
        let begin = (maximumByteCount - 3...maximumByteCount).last { bytes[$0] & 0xC0 != 0x80 }
        return Array(bytes[..<(begin ?? maximumByteCount)])
    }
}
