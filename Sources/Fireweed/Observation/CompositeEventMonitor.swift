// Several monitors as one.

public import Dispatch
public import Foundation
public import FoundationNetworking

/// Passes every event on to several monitors, each on its own queue.
public final class CompositeEventMonitor: EventMonitor {
    /// The monitors, in the order in which they be told of an event.
    public let monitors: [any EventMonitor]
    /// Not used by the session: each monitor is called on its own queue.
    public let queue = DispatchQueue(label: "org.alamofire.compositeEventMonitor")

    /// Hears first, where the session's delegate is a subclass.
    private let delegate: DelegateEvents?

    init(monitors: [any EventMonitor], delegate: DelegateEvents? = nil) {
        self.monitors = monitors
        self.delegate = delegate
    }

    /// Calls `event` with each monitor, on its queue.
    func tell(_ event: @escaping @Sendable (any EventMonitor) -> Void) {
        if let delegate { delegate.queue.async { event(delegate) } }
        for monitor in monitors { monitor.queue.async { event(monitor) } }
    }

    /// Tells every monitor.
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        tell { $0.urlSession(session, didBecomeInvalidWithError: error) }
    }

    /// Tells every monitor.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {
        tell { $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request) }
    }

    /// Tells every monitor.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) {
        let shown = ShownChallenge(challenge)
        tell { $0.urlSession(session, task: task, didReceive: shown.value) }
    }

    /// Tells every monitor.
    public func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) {
        tell { $0.urlSession(session, taskNeedsNewBodyStream: task) }
    }

    /// Tells every monitor.
    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        tell { $0.urlSession(session, taskIsWaitingForConnectivity: task) }
    }

    /// Tells every monitor.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData byteCount: Int64, totalBytesSent total: Int64,
        totalBytesExpectedToSend expected: Int64
    ) {
        tell {
            $0.urlSession(
                session, task: task, didSendBodyData: byteCount, totalBytesSent: total,
                totalBytesExpectedToSend: expected)
        }
    }

    /// Tells every monitor.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics) {
        tell { $0.urlSession(session, task: task, didFinishCollecting: metrics) }
    }

    /// Tells every monitor.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        tell { $0.urlSession(session, task: task, didCompleteWithError: error) }
    }

    /// Tells every monitor.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {
        tell { $0.urlSession(session, dataTask: dataTask, didReceive: response) }
    }

    /// Tells every monitor.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        tell { $0.urlSession(session, dataTask: dataTask, didReceive: data) }
    }

    /// Tells every monitor.
    public func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse response: CachedURLResponse
    ) {
        tell { $0.urlSession(session, dataTask: dataTask, willCacheResponse: response) }
    }

    /// Tells every monitor.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        tell { $0.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location) }
    }

    /// Tells every monitor.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData byteCount: Int64,
        totalBytesWritten total: Int64, totalBytesExpectedToWrite expected: Int64
    ) {
        tell {
            $0.urlSession(
                session, downloadTask: downloadTask, didWriteData: byteCount, totalBytesWritten: total,
                totalBytesExpectedToWrite: expected)
        }
    }

    /// Tells every monitor.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset offset: Int64,
        expectedTotalBytes expected: Int64
    ) {
        tell {
            $0.urlSession(
                session, downloadTask: downloadTask, didResumeAtOffset: offset, expectedTotalBytes: expected)
        }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        tell { $0.request(request, didCreateInitialURLRequest: urlRequest) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) {
        tell { $0.request(request, didFailToCreateURLRequestWithError: error) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didAdaptInitialRequest initial: URLRequest, to adapted: URLRequest) {
        tell { $0.request(request, didAdaptInitialRequest: initial, to: adapted) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didFailToAdaptURLRequest initial: URLRequest, withError error: AFError) {
        tell { $0.request(request, didFailToAdaptURLRequest: initial, withError: error) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        tell { $0.request(request, didCreateURLRequest: urlRequest) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didCreateTask task: URLSessionTask) {
        tell { $0.request(request, didCreateTask: task) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didGatherMetrics metrics: TaskMetrics) {
        tell { $0.request(request, didGatherMetrics: metrics) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError) {
        tell { $0.request(request, didFailTask: task, earlyWithError: error) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        tell { $0.request(request, didCompleteTask: task, with: error) }
    }

    /// Tells every monitor.
    public func requestIsRetrying(_ request: Request) {
        tell { $0.requestIsRetrying(request) }
    }

    /// Tells every monitor.
    public func requestDidFinish(_ request: Request) {
        tell { $0.requestDidFinish(request) }
    }

    /// Tells every monitor.
    public func requestDidResume(_ request: Request) {
        tell { $0.requestDidResume(request) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didResumeTask task: URLSessionTask) {
        tell { $0.request(request, didResumeTask: task) }
    }

    /// Tells every monitor.
    public func requestDidSuspend(_ request: Request) {
        tell { $0.requestDidSuspend(request) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didSuspendTask task: URLSessionTask) {
        tell { $0.request(request, didSuspendTask: task) }
    }

    /// Tells every monitor.
    public func requestDidCancel(_ request: Request) {
        tell { $0.requestDidCancel(request) }
    }

    /// Tells every monitor.
    public func request(_ request: Request, didCancelTask task: URLSessionTask) {
        tell { $0.request(request, didCancelTask: task) }
    }

    /// Tells every monitor.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) {
        tell { $0.request(request, didValidateRequest: urlRequest, response: response, data: data, withResult: result) }
    }

    /// Tells every monitor.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        tell { $0.request(request, didParseResponse: response) }
    }

    /// Tells every monitor.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {
        tell { $0.request(request, didValidateRequest: urlRequest, response: response, withResult: result) }
    }

    /// Tells every monitor.
    public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        tell { $0.request(request, didCreateUploadable: uploadable) }
    }

    /// Tells every monitor.
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {
        tell { $0.request(request, didFailToCreateUploadableWithError: error) }
    }

    /// Tells every monitor.
    public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
        let shown = ShownStream(stream)
        tell { $0.request(request, didProvideInputStream: shown.value) }
    }

    /// Tells every monitor.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    ) {
        tell { $0.request(request, didFinishDownloadingUsing: task, with: result) }
    }

    /// Tells every monitor.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        tell { $0.request(request, didCreateDestinationURL: url) }
    }

    /// Tells every monitor.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        tell {
            $0.request(
                request, didValidateRequest: urlRequest, response: response, fileURL: fileURL, withResult: result)
        }
    }

    /// Tells every monitor.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {
        tell { $0.request(request, didParseResponse: response) }
    }

    /// Tells every monitor.
    @preconcurrency
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>
    ) {
        tell { $0.request(request, didParseResponse: response) }
    }

    /// Tells every monitor.
    @preconcurrency
    public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>) {
        tell { $0.request(request, didParseStream: result) }
    }

    /// Tells every monitor.
    @preconcurrency
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) {
        tell { $0.request(request, didParseResponse: response) }
    }
}
