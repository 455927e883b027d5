// Phases of a task's metrics.

import Fireweed
import Foundation

extension Waterfall {
    /// The phases of every hop of a task; what did not happen is left out.
    init(_ metrics: TaskMetrics) {
        let origin = metrics.taskInterval.start
        phases = metrics.transactionMetrics.flatMap { hop -> [Phase] in
            let spans: [(String, Date?, Date?)] = [
                ("DNS", hop.domainLookupStartDate, hop.domainLookupEndDate),
                ("connect", hop.connectStartDate, hop.secureConnectionStartDate ?? hop.connectEndDate),
                ("TLS", hop.secureConnectionStartDate, hop.secureConnectionEndDate),
                ("wait", hop.requestStartDate, hop.responseStartDate),
                ("transfer", hop.responseStartDate, hop.responseEndDate),
            ]
            return spans.compactMap { name, start, end in
                guard let start, let end, end >= start else { return nil }
                return Phase(name: name, start: start.timeIntervalSince(origin), end: end.timeIntervalSince(origin))
            }
        }
    }
}
