// A monitor made of closures.

public import Dispatch
public import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// Calls a closure for each event.
///
/// A closure may be set at any time; an event calls the closure that is set when the event is delivered.
open class ClosureEventMonitor: EventMonitor, @unchecked Sendable {
    // Properties and events are all in the class body, since Swift cannot override members of extensions.
    // SAFETY: both stored properties are `let`s, and the closures are behind a `Mutex`.

    /// The queue that the closures are called on.
    public let queue: DispatchQueue
    private let closures = Mutex(Closures())

    /// Makes a monitor without closures.
    public init(queue: DispatchQueue = .main) {
        self.queue = queue
    }

    /// The session was invalidated.
    open var sessionDidBecomeInvalidWithError: ((URLSession, (any Error)?) -> Void)? {
        get { closures.withLock { $0.sessionDidBecomeInvalidWithError } }
        set { closures.withLock { $0.sessionDidBecomeInvalidWithError = newValue } }
    }

    /// A redirect is about to be followed.
    open var taskWillPerformHTTPRedirection: ((URLSession, URLSessionTask, HTTPURLResponse, URLRequest) -> Void)?
    {
        get { closures.withLock { $0.taskWillPerformHTTPRedirection } }
        set { closures.withLock { $0.taskWillPerformHTTPRedirection = newValue } }
    }

    /// A challenge came.
    open var taskDidReceiveChallenge: ((URLSession, URLSessionTask, URLAuthenticationChallenge) -> Void)? {
        get { closures.withLock { $0.taskDidReceiveChallenge } }
        set { closures.withLock { $0.taskDidReceiveChallenge = newValue } }
    }

    /// An upload needs its stream, or a new stream after the first was read.
    open var taskNeedNewBodyStream: ((URLSession, URLSessionTask) -> Void)? {
        get { closures.withLock { $0.taskNeedNewBodyStream } }
        set { closures.withLock { $0.taskNeedNewBodyStream = newValue } }
    }

    /// A task waits because there is no route to its host, in a session with `waitsForConnectivity`.
    open var taskIsWaitingForConnectivity: ((URLSession, URLSessionTask) -> Void)? {
        get { closures.withLock { $0.taskIsWaitingForConnectivity } }
        set { closures.withLock { $0.taskIsWaitingForConnectivity = newValue } }
    }

    /// Content of the request was sent; the numbers are the bytes since the last call, in all, and expected (-1 if
    /// unknown).
    open var taskDidSendBodyData: ((URLSession, URLSessionTask, Int64, Int64, Int64) -> Void)? {
        get { closures.withLock { $0.taskDidSendBodyData } }
        set { closures.withLock { $0.taskDidSendBodyData = newValue } }
    }

    /// The metrics of a task are complete.
    open var taskDidFinishCollectingMetrics: ((URLSession, URLSessionTask, TaskMetrics) -> Void)? {
        get { closures.withLock { $0.taskDidFinishCollectingMetrics } }
        set { closures.withLock { $0.taskDidFinishCollectingMetrics = newValue } }
    }

    /// A task ended.
    open var taskDidComplete: ((URLSession, URLSessionTask, (any Error)?) -> Void)? {
        get { closures.withLock { $0.taskDidComplete } }
        set { closures.withLock { $0.taskDidComplete = newValue } }
    }

    /// The head of a response came.
    open var dataTaskDidReceiveResponse: ((URLSession, URLSessionDataTask, URLResponse) -> Void)? {
        get { closures.withLock { $0.dataTaskDidReceiveResponse } }
        set { closures.withLock { $0.dataTaskDidReceiveResponse = newValue } }
    }

    /// Called when a response is about to be stored in the cache.
    open var dataTaskWillCacheResponse: ((URLSession, URLSessionDataTask, CachedURLResponse) -> Void)? {
        get { closures.withLock { $0.dataTaskWillCacheResponse } }
        set { closures.withLock { $0.dataTaskWillCacheResponse = newValue } }
    }

    /// Content came.
    open var dataTaskDidReceiveData: ((URLSession, URLSessionDataTask, Data) -> Void)? {
        get { closures.withLock { $0.dataTaskDidReceiveData } }
        set { closures.withLock { $0.dataTaskDidReceiveData = newValue } }
    }

    /// A download is complete, in its temporary file.
    open var downloadTaskDidFinishDownloadingToURL: ((URLSession, URLSessionDownloadTask, URL) -> Void)? {
        get { closures.withLock { $0.downloadTaskDidFinishDownloadingToURL } }
        set { closures.withLock { $0.downloadTaskDidFinishDownloadingToURL = newValue } }
    }

    /// Content was written; the numbers are the bytes since the last call, in all, and expected (-1 if unknown).
    open var downloadTaskDidWriteData: ((URLSession, URLSessionDownloadTask, Int64, Int64, Int64) -> Void)? {
        get { closures.withLock { $0.downloadTaskDidWriteData } }
        set { closures.withLock { $0.downloadTaskDidWriteData = newValue } }
    }

    /// A download continues an earlier download; the numbers are the earlier bytes and the whole length (-1 if
    /// unknown).
    open var downloadTaskDidResumeAtOffset: ((URLSession, URLSessionDownloadTask, Int64, Int64) -> Void)? {
        get { closures.withLock { $0.downloadTaskDidResumeAtOffset } }
        set { closures.withLock { $0.downloadTaskDidResumeAtOffset = newValue } }
    }

    /// The `URLRequest` was made; adapters have not run yet.
    open var requestDidCreateInitialURLRequest: ((Request, URLRequest) -> Void)? {
        get { closures.withLock { $0.requestDidCreateInitialURLRequest } }
        set { closures.withLock { $0.requestDidCreateInitialURLRequest = newValue } }
    }

    /// The `URLRequest` could not be made.
    open var requestDidFailToCreateURLRequestWithError: ((Request, AFError) -> Void)? {
        get { closures.withLock { $0.requestDidFailToCreateURLRequestWithError } }
        set { closures.withLock { $0.requestDidFailToCreateURLRequestWithError = newValue } }
    }

    /// The adapters have run.
    open var requestDidAdaptInitialRequestToAdaptedRequest: ((Request, URLRequest, URLRequest) -> Void)? {
        get { closures.withLock { $0.requestDidAdaptInitialRequestToAdaptedRequest } }
        set { closures.withLock { $0.requestDidAdaptInitialRequestToAdaptedRequest = newValue } }
    }

    /// An adapter failed.
    open var requestDidFailToAdaptURLRequestWithError: ((Request, URLRequest, AFError) -> Void)? {
        get { closures.withLock { $0.requestDidFailToAdaptURLRequestWithError } }
        set { closures.withLock { $0.requestDidFailToAdaptURLRequestWithError = newValue } }
    }

    /// The `URLRequest` that will be sent is complete.
    open var requestDidCreateURLRequest: ((Request, URLRequest) -> Void)? {
        get { closures.withLock { $0.requestDidCreateURLRequest } }
        set { closures.withLock { $0.requestDidCreateURLRequest = newValue } }
    }

    /// A task was made.
    open var requestDidCreateTask: ((Request, URLSessionTask) -> Void)? {
        get { closures.withLock { $0.requestDidCreateTask } }
        set { closures.withLock { $0.requestDidCreateTask = newValue } }
    }

    /// The metrics of a task are complete.
    open var requestDidGatherMetrics: ((Request, TaskMetrics) -> Void)? {
        get { closures.withLock { $0.requestDidGatherMetrics } }
        set { closures.withLock { $0.requestDidGatherMetrics = newValue } }
    }

    /// A task failed before its end was reported.
    open var requestDidFailTaskEarlyWithError: ((Request, URLSessionTask, AFError) -> Void)? {
        get { closures.withLock { $0.requestDidFailTaskEarlyWithError } }
        set { closures.withLock { $0.requestDidFailTaskEarlyWithError = newValue } }
    }

    /// A task ended and its response was validated.
    open var requestDidCompleteTaskWithError: ((Request, URLSessionTask, AFError?) -> Void)? {
        get { closures.withLock { $0.requestDidCompleteTaskWithError } }
        set { closures.withLock { $0.requestDidCompleteTaskWithError = newValue } }
    }

    /// A ``RateLimiter`` delays the request; the duration is an estimate.
    open var requestIsWaitingForRateLimit: ((Request, Duration) -> Void)? {
        get { closures.withLock { $0.requestIsWaitingForRateLimit } }
        set { closures.withLock { $0.requestIsWaitingForRateLimit = newValue } }
    }

    /// A message of the request was refused and not sent, to protect its server.
    open var requestWasRefused: ((Request, OverloadError) -> Void)? {
        get { closures.withLock { $0.requestWasRefused } }
        set { closures.withLock { $0.requestWasRefused = newValue } }
    }

    /// The request is about to be retried.
    open var requestIsRetrying: ((Request) -> Void)? {
        get { closures.withLock { $0.requestIsRetrying } }
        set { closures.withLock { $0.requestIsRetrying = newValue } }
    }

    /// The request is finished; serialisers run next.
    open var requestDidFinish: ((Request) -> Void)? {
        get { closures.withLock { $0.requestDidFinish } }
        set { closures.withLock { $0.requestDidFinish = newValue } }
    }

    /// The request was resumed.
    open var requestDidResume: ((Request) -> Void)? {
        get { closures.withLock { $0.requestDidResume } }
        set { closures.withLock { $0.requestDidResume = newValue } }
    }

    /// A task was resumed.
    open var requestDidResumeTask: ((Request, URLSessionTask) -> Void)? {
        get { closures.withLock { $0.requestDidResumeTask } }
        set { closures.withLock { $0.requestDidResumeTask = newValue } }
    }

    /// The request was suspended.
    open var requestDidSuspend: ((Request) -> Void)? {
        get { closures.withLock { $0.requestDidSuspend } }
        set { closures.withLock { $0.requestDidSuspend = newValue } }
    }

    /// A task was suspended.
    open var requestDidSuspendTask: ((Request, URLSessionTask) -> Void)? {
        get { closures.withLock { $0.requestDidSuspendTask } }
        set { closures.withLock { $0.requestDidSuspendTask = newValue } }
    }

    /// The request was cancelled.
    open var requestDidCancel: ((Request) -> Void)? {
        get { closures.withLock { $0.requestDidCancel } }
        set { closures.withLock { $0.requestDidCancel = newValue } }
    }

    /// A task was cancelled.
    open var requestDidCancelTask: ((Request, URLSessionTask) -> Void)? {
        get { closures.withLock { $0.requestDidCancelTask } }
        set { closures.withLock { $0.requestDidCancelTask = newValue } }
    }

    /// A validation of a data request ran.
    open var requestDidValidateRequestResponseDataWithResult:
        ((DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
    {
        get { closures.withLock { $0.requestDidValidateRequestResponseDataWithResult } }
        set { closures.withLock { $0.requestDidValidateRequestResponseDataWithResult = newValue } }
    }

    /// The response of a data request is ready for a handler that has no serialiser.
    open var requestDidParseResponse: ((DataRequest, DataResponse<Data?, AFError>) -> Void)? {
        get { closures.withLock { $0.requestDidParseResponse } }
        set { closures.withLock { $0.requestDidParseResponse = newValue } }
    }

    /// A validation of a stream request ran.
    open var requestDidValidateRequestResponseWithResult:
        ((DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
    {
        get { closures.withLock { $0.requestDidValidateRequestResponseWithResult } }
        set { closures.withLock { $0.requestDidValidateRequestResponseWithResult = newValue } }
    }

    /// The content to upload was made.
    open var requestDidCreateUploadable: ((UploadRequest, UploadRequest.Uploadable) -> Void)? {
        get { closures.withLock { $0.requestDidCreateUploadable } }
        set { closures.withLock { $0.requestDidCreateUploadable = newValue } }
    }

    /// The content to upload could not be made.
    open var requestDidFailToCreateUploadableWithError: ((UploadRequest, AFError) -> Void)? {
        get { closures.withLock { $0.requestDidFailToCreateUploadableWithError } }
        set { closures.withLock { $0.requestDidFailToCreateUploadableWithError = newValue } }
    }

    /// The stream of an upload is about to be opened and sent.
    open var requestDidProvideInputStream: ((UploadRequest, InputStream) -> Void)? {
        get { closures.withLock { $0.requestDidProvideInputStream } }
        set { closures.withLock { $0.requestDidProvideInputStream = newValue } }
    }

    /// The file of a download is complete at its final location, or could not be moved there.
    open var requestDidFinishDownloadingUsingTaskWithResult:
        ((DownloadRequest, URLSessionTask, Result<URL, AFError>) -> Void)?
    {
        get { closures.withLock { $0.requestDidFinishDownloadingUsingTaskWithResult } }
        set { closures.withLock { $0.requestDidFinishDownloadingUsingTaskWithResult = newValue } }
    }

    /// The destination of a download is known; its file has not been moved yet.
    open var requestDidCreateDestinationURL: ((DownloadRequest, URL) -> Void)? {
        get { closures.withLock { $0.requestDidCreateDestinationURL } }
        set { closures.withLock { $0.requestDidCreateDestinationURL = newValue } }
    }

    /// A validation of a download ran.
    open var requestDidValidateRequestResponseFileURLWithResult:
        ((DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
    {
        get { closures.withLock { $0.requestDidValidateRequestResponseFileURLWithResult } }
        set { closures.withLock { $0.requestDidValidateRequestResponseFileURLWithResult = newValue } }
    }

    /// The response of a download is ready for a handler that has no serialiser.
    open var requestDidParseDownloadResponse: ((DownloadRequest, DownloadResponse<URL?, AFError>) -> Void)?
    {
        get { closures.withLock { $0.requestDidParseDownloadResponse } }
        set { closures.withLock { $0.requestDidParseDownloadResponse = newValue } }
    }

    /// Calls `sessionDidBecomeInvalidWithError`.
    open func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        sessionDidBecomeInvalidWithError?(session, error)
    }

    /// Calls `taskWillPerformHTTPRedirection`.
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {
        taskWillPerformHTTPRedirection?(session, task, response, request)
    }

    /// Calls `taskDidReceiveChallenge`.
    open func urlSession(_ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge)
    {
        taskDidReceiveChallenge?(session, task, challenge)
    }

    /// Calls `taskNeedNewBodyStream`.
    open func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) {
        taskNeedNewBodyStream?(session, task)
    }

    /// Calls `taskIsWaitingForConnectivity`.
    open func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        taskIsWaitingForConnectivity?(session, task)
    }

    /// Calls `taskDidSendBodyData`.
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData byteCount: Int64, totalBytesSent total: Int64,
        totalBytesExpectedToSend expected: Int64
    ) {
        taskDidSendBodyData?(session, task, byteCount, total, expected)
    }

    /// Calls `taskDidFinishCollectingMetrics`.
    open func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics) {
        taskDidFinishCollectingMetrics?(session, task, metrics)
    }

    /// Calls `taskDidComplete`.
    open func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        taskDidComplete?(session, task, error)
    }

    /// Calls `dataTaskDidReceiveResponse`.
    open func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {
        dataTaskDidReceiveResponse?(session, dataTask, response)
    }

    /// Calls `dataTaskDidReceiveData`.
    open func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        dataTaskDidReceiveData?(session, dataTask, data)
    }

    /// Calls `dataTaskWillCacheResponse`.
    open func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse response: CachedURLResponse
    ) {
        dataTaskWillCacheResponse?(session, dataTask, response)
    }

    /// Calls `downloadTaskDidFinishDownloadingToURL`.
    open func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        downloadTaskDidFinishDownloadingToURL?(session, downloadTask, location)
    }

    /// Calls `downloadTaskDidWriteData`.
    open func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData byteCount: Int64,
        totalBytesWritten total: Int64, totalBytesExpectedToWrite expected: Int64
    ) {
        downloadTaskDidWriteData?(session, downloadTask, byteCount, total, expected)
    }

    /// Calls `downloadTaskDidResumeAtOffset`.
    open func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset offset: Int64,
        expectedTotalBytes expected: Int64
    ) {
        downloadTaskDidResumeAtOffset?(session, downloadTask, offset, expected)
    }

    /// Calls `requestDidCreateInitialURLRequest`.
    open func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        requestDidCreateInitialURLRequest?(request, urlRequest)
    }

    /// Calls `requestDidFailToCreateURLRequestWithError`.
    open func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) {
        requestDidFailToCreateURLRequestWithError?(request, error)
    }

    /// Calls `requestDidAdaptInitialRequestToAdaptedRequest`.
    open func request(_ request: Request, didAdaptInitialRequest initial: URLRequest, to adapted: URLRequest) {
        requestDidAdaptInitialRequestToAdaptedRequest?(request, initial, adapted)
    }

    /// Calls `requestDidFailToAdaptURLRequestWithError`.
    open func request(_ request: Request, didFailToAdaptURLRequest initial: URLRequest, withError error: AFError) {
        requestDidFailToAdaptURLRequestWithError?(request, initial, error)
    }

    /// Calls `requestDidCreateURLRequest`.
    open func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        requestDidCreateURLRequest?(request, urlRequest)
    }

    /// Calls `requestDidCreateTask`.
    open func request(_ request: Request, didCreateTask task: URLSessionTask) {
        requestDidCreateTask?(request, task)
    }

    /// Calls `requestDidGatherMetrics`.
    open func request(_ request: Request, didGatherMetrics metrics: TaskMetrics) {
        requestDidGatherMetrics?(request, metrics)
    }

    /// Calls `requestDidFailTaskEarlyWithError`.
    open func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError) {
        requestDidFailTaskEarlyWithError?(request, task, error)
    }

    /// Calls `requestDidCompleteTaskWithError`.
    open func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        requestDidCompleteTaskWithError?(request, task, error)
    }

    /// Calls `requestIsWaitingForRateLimit`.
    open func request(_ request: Request, isWaitingForRateLimit duration: Duration) {
        requestIsWaitingForRateLimit?(request, duration)
    }

    /// Calls `requestWasRefused`.
    open func request(_ request: Request, wasRefused error: OverloadError) {
        requestWasRefused?(request, error)
    }

    /// Calls `requestIsRetrying`.
    open func requestIsRetrying(_ request: Request) {
        requestIsRetrying?(request)
    }

    /// Calls `requestDidFinish`.
    open func requestDidFinish(_ request: Request) {
        requestDidFinish?(request)
    }

    /// Calls `requestDidResume`.
    open func requestDidResume(_ request: Request) {
        requestDidResume?(request)
    }

    /// Calls `requestDidResumeTask`.
    open func request(_ request: Request, didResumeTask task: URLSessionTask) {
        requestDidResumeTask?(request, task)
    }

    /// Calls `requestDidSuspend`.
    open func requestDidSuspend(_ request: Request) {
        requestDidSuspend?(request)
    }

    /// Calls `requestDidSuspendTask`.
    open func request(_ request: Request, didSuspendTask task: URLSessionTask) {
        requestDidSuspendTask?(request, task)
    }

    /// Calls `requestDidCancel`.
    open func requestDidCancel(_ request: Request) {
        requestDidCancel?(request)
    }

    /// Calls `requestDidCancelTask`.
    open func request(_ request: Request, didCancelTask task: URLSessionTask) {
        requestDidCancelTask?(request, task)
    }

    /// Calls `requestDidValidateRequestResponseDataWithResult`.
    open func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) {
        requestDidValidateRequestResponseDataWithResult?(request, urlRequest, response, data, result)
    }

    /// Calls `requestDidParseResponse`.
    open func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        requestDidParseResponse?(request, response)
    }

    /// Calls `requestDidValidateRequestResponseWithResult`.
    open func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {
        requestDidValidateRequestResponseWithResult?(request, urlRequest, response, result)
    }

    /// Calls `requestDidCreateUploadable`.
    open func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        requestDidCreateUploadable?(request, uploadable)
    }

    /// Calls `requestDidFailToCreateUploadableWithError`.
    open func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {
        requestDidFailToCreateUploadableWithError?(request, error)
    }

    /// Calls `requestDidProvideInputStream`.
    open func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
        requestDidProvideInputStream?(request, stream)
    }

    /// Calls `requestDidFinishDownloadingUsingTaskWithResult`.
    open func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    ) {
        requestDidFinishDownloadingUsingTaskWithResult?(request, task, result)
    }

    /// Calls `requestDidCreateDestinationURL`.
    open func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        requestDidCreateDestinationURL?(request, url)
    }

    /// Calls `requestDidValidateRequestResponseFileURLWithResult`.
    open func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        requestDidValidateRequestResponseFileURLWithResult?(request, urlRequest, response, fileURL, result)
    }

    /// Calls `requestDidParseDownloadResponse`.
    open func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {
        requestDidParseDownloadResponse?(request, response)
    }
}
