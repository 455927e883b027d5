import Alamofire
import Foundation

/// The logger that half of all apps have.
final class NetworkLogger: EventMonitor {
    let queue = DispatchQueue(label: "com.example.logger")

    func requestDidResume(_ request: Request) {
        let body = request.request.flatMap { $0.httpBody.map { String(decoding: $0, as: UTF8.self) } } ?? "None"
        print("⚡️ Request started: \(request)\n⚡️ Body: \(body)")
    }

    func requestDidFinish(_ request: Request) {
        print(request.description)
    }

    func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {
        guard let data = response.data else { return }
        if let json = try? JSONSerialization.jsonObject(with: data, options: .mutableContainers) {
            print(json)
        }
        print("⚡️ Response received: \(response.debugDescription) \(response.metrics?.taskInterval.duration ?? 0)")
    }
}

/// Measures, with the dates of the last transaction.
struct TimingMonitor: EventMonitor {
    let report: @Sendable (URL?, TimeInterval) -> Void

    func request(_ request: Request, didGatherMetrics metrics: URLSessionTaskMetrics) {
        let last: URLSessionTaskTransactionMetrics? = metrics.transactionMetrics.last
        guard let start = last?.fetchStartDate, let end = last?.responseEndDate else { return }
        report(last?.request.url, end.timeIntervalSince(start))
    }
}

extension Session {
    static let logged = Session(eventMonitors: [NetworkLogger(), TimingMonitor { print($0 as Any, $1) }])
}
