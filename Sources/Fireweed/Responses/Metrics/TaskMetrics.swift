// The numbers of one task, in the shape of `URLSessionTaskMetrics`.

import FireweedTransport
public import Foundation

/// The metrics of one task: a transaction for each exchange.
public struct TaskMetrics: Sendable {
    /// From the start of the first transaction to the end of the last one.
    public let taskInterval: DateInterval
    /// How many redirects were followed; an answer to a challenge does not count, though it adds a transaction.
    public let redirectCount: Int
    /// The transactions of the exchanges, in order; never empty.
    ///
    /// An exchange that the cache answered after a validation has two transactions: one over the network, with the
    /// origin's 304, and one from the local cache.
    public let transactionMetrics: [TransactionMetrics]
    /// Where the last response came from.
    public let responseSource: ResponseSource

    /// The source of a response.
    public enum ResponseSource: Sendable {
        /// The network.
        case network
        /// The cache, without a validation or instead of an error.
        case cache
        /// The cache, after the origin has validated the stored response with a 304 (RFC 9111 §4.3).
        case revalidation
        /// Nothing was sent: the request accepts only a stored response (`only-if-cached`, `.returnCacheDataDontLoad`),
        /// and none is suitable; or the request waited for an equal request, which failed or was not answered in time.
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
