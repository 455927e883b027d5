// The numbers of one task, in the shape of `URLSessionTaskMetrics`.

import FireweedTransport
public import Foundation

/// What one task took: a transaction for each exchange.
public struct TaskMetrics: Sendable {
    /// From the start of the first transaction to the end of the last one.
    public let taskInterval: DateInterval
    /// How many redirects were followed; an answer to a challenge is none, though it adds a transaction.
    public let redirectCount: Int
    /// One for each exchange, in order; never empty.
    ///
    /// An exchange that was answered by the cache after the origin had confirmed that has two: one over the network,
    /// with the origin's 304, and one from the local cache.
    public let transactionMetrics: [TransactionMetrics]
    /// Where the last response came from.
    public let responseSource: ResponseSource

    /// Where a response came from.
    public enum ResponseSource: Sendable {
        /// The network.
        case network
        /// The cache, without a question to the origin or in place of an error.
        case cache
        /// The cache, after the origin confirmed with 304 that the stored response is still good (RFC 9111 §4.3).
        case revalidation
        /// Nowhere: nothing was sent, since only a stored response was wanted (`only-if-cached`,
        /// `.returnCacheDataDontLoad`) and none is suitable.
        case notSent
    }

    init(exchanges: [ExchangeRecord]) {
        transactionMetrics = exchanges.map(TransactionMetrics.init)
        responseSource =
            switch exchanges.last?.source {
            case .cache: .cache
            case .revalidation: .revalidation
            case .notSent: .notSent
            case .network, nil: .network
            }
        redirectCount = exchanges.dropLast().count(where: \.isRedirect)
        let start = transactionMetrics.first?.fetchStartDate ?? Date(timeIntervalSince1970: 0)
        let end = transactionMetrics.last?.responseEndDate ?? start
        taskInterval = DateInterval(start: start, end: max(start, end))
    }
}
