// The end of a transfer, as its consumer receives it.

/// The end of a transfer: its failure, if any, and its report.
public struct TransferEnd: Sendable {
    /// The progress of the request's content at the end of a transfer.
    public enum SentContent: Sendable, Hashable {
        /// No byte of it was read, or there is none: a stream that can be read once can still be sent.
        case untouched
        /// Some of it was read.
        case begun
        /// All of it was read.
        case whole
    }

    /// Why it failed; `nil` when a whole response came, and when the rest of it was discarded.
    public var failure: TransferFailure?
    /// The trailer section (RFC 9110 §6.5); `nil` when none came.
    public var trailers: FieldBlock?
    /// What it took: the numbers of the try that ended it.
    public var report: TransferReport
    /// The numbers of earlier tries of the same message, in order.
    ///
    /// Most transfers have none.
    public var earlierReports: [TransferReport] = []
    /// What became of the request's content.
    public var requestContent: SentContent

    /// Makes an end.
    ///
    /// - Parameters:
    ///   - failure: why the transfer failed; `nil`, the default, when it did not.
    ///   - report: the times and byte counts of the transfer.
    ///   - requestContent: how much of the request's content was read; nothing by default.
    ///   - trailers: the trailer section (RFC 9110 §6.5); `nil`, the default, when none came.
    public init(
        _ failure: TransferFailure? = nil, report: TransferReport, requestContent: SentContent = .untouched,
        trailers: FieldBlock? = nil
    ) {
        self.failure = failure
        self.report = report
        self.requestContent = requestContent
        self.trailers = trailers
    }
}
