import Alamofire
import Foundation
import FoundationNetworking

import typealias Alamofire.URLSessionTaskMetrics
import typealias Alamofire.URLSessionTaskTransactionMetrics

// The names that both modules have: an import of the one name decides.

struct MetricsMonitor: EventMonitor {
    func request(_ request: Request, didGatherMetrics metrics: URLSessionTaskMetrics) {
        let last: URLSessionTaskTransactionMetrics? = metrics.transactionMetrics.last
        print(metrics.redirectCount, last?.networkProtocolName ?? "")
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: Alamofire.URLSessionTaskMetrics
    ) {
        print(metrics.taskInterval)
    }
}
