// Phases of a task's metrics.

import Fireweed
import Foundation

extension Waterfall {
    /// The phases of every transaction of a task; phases that did not happen are left out.
    init(_ metrics: TaskMetrics) {
        let origin = metrics.taskInterval.start
        phases = metrics.transactionMetrics.flatMap { transaction -> [Phase] in
            let spans: [(String, Date?, Date?)] = [
                ("DNS", transaction.domainLookupStartDate, transaction.domainLookupEndDate),
                (
                    "connect", transaction.connectStartDate,
                    transaction.secureConnectionStartDate ?? transaction.connectEndDate
                ),
                ("TLS", transaction.secureConnectionStartDate, transaction.secureConnectionEndDate),
                ("wait", transaction.requestStartDate, transaction.responseStartDate),
                ("transfer", transaction.responseStartDate, transaction.responseEndDate),
            ]
            return spans.compactMap { name, start, end in
                guard let start, let end, end >= start else { return nil }
                return Phase(name: name, start: start.timeIntervalSince(origin), end: end.timeIntervalSince(origin))
            }
        }
    }
}
