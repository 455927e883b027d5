// The delivery of a stored response.

import FireweedTransport
import Foundation

/// The rest of a stored response, delivered piece by piece; used on one queue.
struct StoredPlayback: Sendable {
    /// The bytes delivered at a time; a consumer can stop the delivery between two pieces.
    private static let pieceSize = 64 * 1024

    private let head: ResponseHead
    private let content: Data
    private var hasDeliveredHead = false
    private var offset = 0
    private let startNanoseconds: UInt64

    /// Makes the playback of a stored response; `content` must be empty for HEAD.
    init(_ head: ResponseHead, content: Data, startNanoseconds: UInt64) {
        self.head = head
        self.content = content
        self.startNanoseconds = startNanoseconds
    }

    /// Delivers the next piece, and returns the consumer's flow; `nil` when everything has been delivered.
    mutating func step(to consumer: any TransferConsumer) -> Flow? {
        guard hasDeliveredHead else {
            hasDeliveredHead = true
            return consumer.transferDidReceive(head)
        }
        guard offset < content.count else { return nil }
        let end = min(offset + Self.pieceSize, content.count)
        defer { offset = end }
        return content.withUnsafeBytes { bytes in
            consumer.transferDidReceive(ContentBytes(UnsafeRawBufferPointer(rebasing: bytes[offset..<end])))
        }
    }

    /// The report of a response for which nothing was sent.
    var report: TransferReport {
        var report = TransferReport.local(since: startNanoseconds)
        report.responseStart = report.total
        report.responseDecodedByteCount = Int64(offset)
        return report
    }

    /// Nanoseconds of the monotonic clock.
    static var nanoseconds: UInt64 { SystemClock().monotonicNanoseconds }
}

extension TransferReport {
    /// A report for an exchange that sent nothing and ends now; the exchange began at `startNanoseconds` of the
    /// monotonic clock.
    static func local(since startNanoseconds: UInt64) -> TransferReport {
        var report = TransferReport()
        let elapsed = Int64(clamping: StoredPlayback.nanoseconds - startNanoseconds)
        report.startNanoseconds = WallClock.nanoseconds &- elapsed
        report.total = max(1, elapsed / 1000)
        return report
    }
}
