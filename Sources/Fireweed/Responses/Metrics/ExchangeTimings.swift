// The durations of an exchange's phases.

import Foundation

/// The phases of an exchange in milliseconds, as archives and logs show them.
///
/// `dns`, `connect` and `ssl` are -1 if they did not happen, the other phases 0.
struct ExchangeTimings: Encodable, Sendable {
    var blocked: Double
    var dns: Double
    var connect: Double
    var ssl: Double
    var send: Double
    var wait: Double
    var receive: Double

    init(_ transaction: TransactionMetrics) {
        let span = { (start: Date?, end: Date?) -> Double? in
            guard let start, let end else { return nil }
            return max(0, end.timeIntervalSince(start) * 1000)
        }
        dns = span(transaction.domainLookupStartDate, transaction.domainLookupEndDate) ?? -1
        connect = span(transaction.connectStartDate, transaction.connectEndDate) ?? -1
        ssl = span(transaction.secureConnectionStartDate, transaction.secureConnectionEndDate) ?? -1
        let end = transaction.responseEndDate
        let requestStart = transaction.requestStartDate
        // Without content there is no `requestEndDate`: sending counts as 0.
        let sent = transaction.requestEndDate ?? requestStart
        let before = span(transaction.fetchStartDate, requestStart ?? end) ?? 0
        blocked = max(0, before - max(0, dns) - max(0, connect))
        send = span(requestStart, sent) ?? 0
        wait = span(sent, transaction.responseStartDate ?? end) ?? 0
        receive = span(transaction.responseStartDate, end) ?? 0
    }

    /// The sum; the TLS handshake is a part of connecting.
    var sum: Double { blocked + max(0, dns) + max(0, connect) + send + wait + receive }
}
