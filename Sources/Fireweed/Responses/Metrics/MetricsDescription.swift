// Descriptions of metrics in logs.

import Foundation

extension TaskMetrics: CustomStringConvertible, CustomReflectable {
    /// The source of the response, the time, and a line for each exchange; without secrets.
    public var description: String {
        let source =
            switch responseSource {
            case .network: "the network"
            case .cache: "the cache"
            case .revalidation: "the cache, after a validation"
            case .notSent: "nowhere: nothing was sent"
            }
        let redirects = redirectCount == 0 ? "" : ", after \(redirectCount) redirect\(redirectCount == 1 ? "" : "s")"
        let head = "Response from \(source)\(redirects), in \(TransactionMetrics.milliseconds(taskInterval.duration))"
        return ([head] + transactionMetrics.map(\.description)).joined(separator: "\n")
    }

    /// No children, so that `dump` shows no more than the description.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension TransactionMetrics: CustomStringConvertible, CustomReflectable {
    /// The method, the URL without secrets, the status, the protocol, the time, and the numbers of bytes.
    ///
    /// Credentials and secret parameters of the URL are replaced as ``Redaction/standard`` says; fields are not shown.
    public var description: String {
        let source =
            switch resourceFetchType {
            case .networkLoad, .serverPush: networkProtocolName.map { " over \($0)" } ?? ""
            case .localCache: " from the cache"
            case .unknown: ", not sent"
            }
        let time = duration.map { ", \(Self.milliseconds($0))" } ?? ""
        let sent = countOfRequestHeaderBytesSent + countOfRequestBodyBytesSent
        let received = countOfResponseHeaderBytesReceived + countOfResponseBodyBytesReceived
        return "\(method) \(Redaction.standard.text(ofURL: url.absoluteString)): "
            + "\(statusCode.map(String.init) ?? "no response")\(source)\(time), "
            + "\(sent) bytes sent, \(received) bytes received"
    }

    /// No children, so that `dump` shows no more than the description.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    private var duration: TimeInterval? {
        guard let start = fetchStartDate, let end = responseEndDate else { return nil }
        return max(0, end.timeIntervalSince(start))
    }

    fileprivate static func milliseconds(_ seconds: TimeInterval) -> String {
        let tenths = Int64((seconds * 10_000).rounded())
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
