// The reason in a close frame.

package import Foundation

/// The reason text that follows the code in a close frame (RFC 6455 §5.5.1).
package enum CloseReason {
    /// The longest reason in bytes: a control frame has at most 125 bytes of content (§5.5), and the code takes two.
    package static let maximumByteCount = 123

    /// Returns the longest prefix of a reason that fits into a close frame.
    ///
    /// UTF-8 is cut between characters, because a peer must refuse a reason that is not UTF-8 (§8.1).
    package static func fitting(_ reason: Data) -> [UInt8] {
        let bytes = Array(reason)
        guard bytes.count > maximumByteCount else { return bytes }
        // If the first byte that does not fit is inside a character, this character begins at most three bytes before
        // it.
        let begin = (maximumByteCount - 3...maximumByteCount).last { bytes[$0] & 0xC0 != 0x80 }
        return Array(bytes[..<(begin ?? maximumByteCount)])
    }
}
