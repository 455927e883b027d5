// The decoding of one content coding, piece by piece.

import Foundation

/// Decodes one content coding (RFC 9110 §8.4.1); used on one thread.
protocol ContentCodingStream: AnyObject {
    /// Whether the content may end now: no bytes came, or all of it is decoded.
    var isWhole: Bool { get }

    /// Decodes from the front of `input` until some output is written or `input` is used up.
    ///
    /// - Returns: the number of bytes written; 0 if `input` is used up and no output is pending.
    /// - Throws: `cannotDecodeContentData` if the bytes are not in this coding.
    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> Int
}

extension TransferFailure {
    /// The content does not match `Content-Encoding`.
    static func badCoding(_ coding: String, _ detail: String) -> TransferFailure {
        .exchange(
            .cannotDecodeContentData, detail: "the content cannot be decoded as \(coding): \(detail)", engineCode: 0)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the bytes after the first `count` bytes.
    func advanced(by count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[count...]) }
}
