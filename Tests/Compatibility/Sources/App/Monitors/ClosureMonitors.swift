import Alamofire
import Foundation

/// A monitor of closures that is subclassed to have some of them from the start.
public final class CountingMonitor: ClosureEventMonitor, @unchecked Sendable {
    private let lock = NSLock()
    private var storedCount = 0
    private var storedFinish: ((Request) -> Void)?

    public var count: Int { lock.withLock { storedCount } }

    public override init(queue: DispatchQueue = .global()) {
        super.init(queue: queue)
        requestDidResume = { [weak self] _ in self?.increase() }
        dataTaskDidReceiveData = { [weak self] session, task, data in
            _ = (session.configuration, task.taskIdentifier, data.count)
            self?.increase()
        }
        taskDidFinishCollectingMetrics = { _, task, metrics in
            print(task.originalRequest?.url as Any, metrics.taskInterval.duration, metrics.redirectCount)
        }
        requestDidCompleteTaskWithError = { request, task, error in
            if let error { print(request.id, task.state, error) }
        }
    }

    public override var requestDidFinish: ((Request) -> Void)? {
        get { lock.withLock { storedFinish } }
        set { lock.withLock { storedFinish = newValue } }
    }

    public override func requestDidFinish(_ request: Request) {
        super.requestDidFinish(request)
        requestDidFinish?(request)
    }

    private func increase() {
        lock.withLock { storedCount += 1 }
    }
}

enum Monitoring {
    static func all(_ log: @escaping @Sendable (String) -> Void) -> ClosureEventMonitor {
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "com.example.closures"))
        monitor.sessionDidBecomeInvalidWithError = { _, error in log("invalid \(String(describing: error))") }
        monitor.taskDidReceiveChallenge = { _, task, challenge in log("\(task) \(challenge.protectionSpace.host)") }
        monitor.taskDidSendBodyData = { _, _, sent, total, expected in log("\(sent) \(total) \(expected)") }
        monitor.taskNeedNewBodyStream = { _, task in log("stream for \(task)") }
        monitor.taskWillPerformHTTPRedirection = { _, _, response, request in log("\(response.statusCode) \(request)") }
        monitor.taskDidComplete = { _, task, _ in log("\(task.countOfBytesReceived)") }
        monitor.taskIsWaitingForConnectivity = { _, task in log("\(task)") }
        monitor.dataTaskDidReceiveResponse = { _, task, response in log("\(task) \(response)") }
        monitor.dataTaskWillCacheResponse = { _, _, response in log("\(response.storagePolicy)") }
        monitor.downloadTaskDidFinishDownloadingToURL = { _, task, url in log("\(task) \(url)") }
        monitor.downloadTaskDidWriteData = { _, task, _, total, expected in log("\(task) \(total)/\(expected)") }
        monitor.downloadTaskDidResumeAtOffset = { _, _, offset, total in log("\(offset)/\(total)") }
        monitor.requestDidCreateInitialURLRequest = { _, request in log("\(request)") }
        monitor.requestDidFailToCreateURLRequestWithError = { _, error in log("\(error)") }
        monitor.requestDidAdaptInitialRequestToAdaptedRequest = { _, initial, adapted in log("\(initial) \(adapted)") }
        monitor.requestDidFailToAdaptURLRequestWithError = { _, request, error in log("\(request) \(error)") }
        monitor.requestDidCreateURLRequest = { _, request in log("\(request)") }
        monitor.requestDidCreateTask = { _, task in log("\(task.taskIdentifier)") }
        monitor.requestDidGatherMetrics = { _, metrics in log("\(metrics.transactionMetrics.count)") }
        monitor.requestDidFailTaskEarlyWithError = { _, task, error in log("\(task) \(error)") }
        monitor.requestIsRetrying = { log("\($0.retryCount)") }
        monitor.requestDidSuspend = { log("\($0)") }
        monitor.requestDidSuspendTask = { log("\($0) \($1)") }
        monitor.requestDidCancel = { log("\($0)") }
        monitor.requestDidCancelTask = { log("\($0) \($1)") }
        monitor.requestDidResumeTask = { log("\($0) \($1)") }
        monitor.requestDidValidateRequestResponseDataWithResult = { _, _, response, data, result in
            log("\(response.statusCode) \(data?.count ?? 0) \(result)")
        }
        monitor.requestDidParseResponse = { _, response in log(response.debugDescription) }
        monitor.requestDidValidateRequestResponseWithResult = { _, _, response, result in log("\(response) \(result)") }
        monitor.requestDidCreateUploadable = { _, uploadable in log("\(uploadable)") }
        monitor.requestDidFailToCreateUploadableWithError = { _, error in log("\(error)") }
        monitor.requestDidProvideInputStream = { _, stream in log("\(stream)") }
        monitor.requestDidFinishDownloadingUsingTaskWithResult = { _, task, result in log("\(task) \(result)") }
        monitor.requestDidCreateDestinationURL = { _, url in log("\(url)") }
        monitor.requestDidValidateRequestResponseFileURLWithResult = { _, _, _, url, result in
            log("\(String(describing: url)) \(result)")
        }
        monitor.requestDidParseDownloadResponse = { _, response in log(response.debugDescription) }
        return monitor
    }
}
