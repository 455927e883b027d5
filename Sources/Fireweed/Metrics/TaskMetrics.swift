// The numbers of one task, in the shape of `URLSessionTaskMetrics`.

import FireweedTransport
public import Foundation

/// What one task took: a transaction for each hop.
public struct TaskMetrics: Sendable {
    /// From the start of the first transaction to the end of the last one.
    public let taskInterval: DateInterval
    /// How many redirects were followed; an answer to a challenge is none, though it adds a transaction.
    public let redirectCount: Int
    /// One for each hop, in order; never empty.
    public let transactionMetrics: [TransactionMetrics]

    init(hops: [HopRecord]) {
        transactionMetrics = hops.map(TransactionMetrics.init)
        redirectCount = hops.dropLast().count(where: \.isRedirect)
        let start = transactionMetrics.first?.fetchStartDate ?? Date(timeIntervalSince1970: 0)
        let end = transactionMetrics.last?.responseEndDate ?? start
        taskInterval = DateInterval(start: start, end: max(start, end))
    }
}
