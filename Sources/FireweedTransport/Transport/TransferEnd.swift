// The end of a transfer, as reported to its consumer.

/// The end of a transfer: its failure, if any, and its report.
public struct TransferEnd: Sendable {
    /// How much of the request's content was read by the end of a transfer.
    public enum SentContent: Sendable, Hashable {
        /// No content was read, or there is none: a stream that can be read only once can still be sent.
        case untouched
        /// Some of the content was read.
        case begun
        /// All of the content was read.
        case whole
    }

    /// Why the transfer failed; `nil` after a complete response, and if the rest of the response was discarded.
    public var failure: TransferFailure?
    /// The trailer section (RFC 9110 §6.5); `nil` if there was none.
    public var trailers: FieldBlock?
    /// The times and byte counts of the transfer's last try.
    public var report: TransferReport
    /// The times and byte counts of earlier tries of the same message, in order.
    ///
    /// Empty for most transfers.
    public var earlierReports: [TransferReport] = []
    /// How much of the request's content was read.
    public var requestContent: SentContent

    /// Makes an end.
    ///
    /// - Parameters:
    ///   - failure: why the transfer failed; `nil`, the default, if it did not fail.
    ///   - report: the times and byte counts of the transfer.
    ///   - requestContent: how much of the request's content was read; nothing by default.
    ///   - trailers: the trailer section (RFC 9110 §6.5); `nil`, the default, if there was none.
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
