// Decoding of one content coding, piece by piece.

import Foundation

/// Decodes one content coding (RFC 9110 §8.4.1); used on one thread.
protocol ContentCodingStream: AnyObject {
    /// Whether the content may end here: nothing came, or all of it was decoded.
    var isWhole: Bool { get }

    /// Decodes from the front of `input` until `output` is full or `input` is used up.
    ///
    /// - Returns: how many bytes were written; 0 when `input` is used up and no output is pending.
    /// - Throws: `cannotDecodeContentData` where the bytes are not of this coding.
    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> Int
}

extension TransferFailure {
    /// Content is not what `Content-Encoding` says.
    static func badCoding(_ coding: String, _ detail: String) -> TransferFailure {
        .exchange(
            .cannotDecodeContentData, detail: "the content cannot be decoded as \(coding): \(detail)", engineCode: 0)
    }
}

extension UnsafeRawBufferPointer {
    /// The rest after the first `count` bytes.
    func advanced(by count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[count...]) }
}
