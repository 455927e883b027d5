import Alamofire
import Foundation

/// Has every method of the protocol, and remembers which were called.
public final class EveryEventMonitor: EventMonitor, @unchecked Sendable {
    public let queue = DispatchQueue(label: "com.example.monitor")
    private var storedEvents: [String] = []
    private var waiting: [(event: String, continuation: CheckedContinuation<Void, Never>)] = []

    public init() {}

    /// What was called up to now, in its order.
    public var events: [String] { queue.sync { storedEvents } }

    /// Waits until a method was called.
    public func heard(_ event: String) async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                if storedEvents.contains(event) {
                    continuation.resume()
                } else {
                    waiting.append((event, continuation))
                }
            }
        }
    }

    private func note(_ event: String) {
        storedEvents.append(event)
        for waiter in waiting where waiter.event == event { waiter.continuation.resume() }
        waiting.removeAll { $0.event == event }
    }

    // MARK: URLSessionDelegate

    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        note("didBecomeInvalidWithError")
    }

    // MARK: URLSessionTaskDelegate

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) {
        note("didReceiveChallenge")
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note("didSendBodyData")
    }

    public func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) {
        note("taskNeedsNewBodyStream")
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {
        note("willPerformHTTPRedirection")
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        note("didFinishCollecting")
    }

    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        note("didCompleteWithError")
    }

    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        note("taskIsWaitingForConnectivity")
    }

    // MARK: URLSessionDataDelegate

    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {
        note("didReceiveResponse")
    }

    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note("didReceiveData")
    }

    public func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
    ) {
        note("willCacheResponse")
    }

    // MARK: URLSessionDownloadDelegate

    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note("didResumeAtOffset")
    }

    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        note("didWriteData")
    }

    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        note("didFinishDownloadingTo")
    }

    // MARK: Request

    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        note("didCreateInitialURLRequest")
    }

    public func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) {
        note("didFailToCreateURLRequestWithError")
    }

    public func request(
        _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
    ) {
        note("didAdaptInitialRequest")
    }

    public func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: AFError
    ) {
        note("didFailToAdaptURLRequest")
    }

    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        note("didCreateURLRequest")
    }

    public func request(_ request: Request, didCreateTask task: URLSessionTask) {
        note("didCreateTask")
    }

    public func request(_ request: Request, didGatherMetrics metrics: URLSessionTaskMetrics) {
        note("didGatherMetrics")
    }

    public func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError) {
        note("didFailTaskEarly")
    }

    public func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        note("didCompleteTask")
    }

    public func requestIsRetrying(_ request: Request) {
        note("requestIsRetrying")
    }

    public func requestDidFinish(_ request: Request) {
        note("requestDidFinish")
    }

    public func requestDidResume(_ request: Request) {
        note("requestDidResume")
    }

    public func request(_ request: Request, didResumeTask task: URLSessionTask) {
        note("didResumeTask")
    }

    public func requestDidSuspend(_ request: Request) {
        note("requestDidSuspend")
    }

    public func request(_ request: Request, didSuspendTask task: URLSessionTask) {
        note("didSuspendTask")
    }

    public func requestDidCancel(_ request: Request) {
        note("requestDidCancel")
    }

    public func request(_ request: Request, didCancelTask task: URLSessionTask) {
        note("didCancelTask")
    }

    // MARK: DataRequest

    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) {
        note("didValidateData")
    }

    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        note("didParseDataResponse")
    }

    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>
    ) {
        note("didParseGenericDataResponse")
    }

    // MARK: DataStreamRequest

    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {
        note("didValidateStream")
    }

    public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>) {
        note("didParseStream")
    }

    // MARK: UploadRequest

    public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        note("didCreateUploadable")
    }

    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {
        note("didFailToCreateUploadable")
    }

    public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
        note("didProvideInputStream")
    }

    // MARK: DownloadRequest

    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    ) {
        note("didFinishDownloading")
    }

    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        note("didCreateDestinationURL")
    }

    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?,
        withResult result: Request.ValidationResult
    ) {
        note("didValidateDownload")
    }

    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {
        note("didParseDownloadResponse")
    }

    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) {
        note("didParseGenericDownloadResponse")
    }
}
