// A monitor made of closures.

public import Dispatch
public import Foundation
public import FoundationNetworking
import Synchronization

/// Calls a closure for each event.
///
/// The closures may be set at any time; an event uses the one that is set when it is delivered.
open class ClosureEventMonitor: EventMonitor, @unchecked Sendable {
    // SAFETY: both stored properties are `let`s, and the closures are behind a `Mutex`.

    /// The queue that the closures are called on.
    public let queue: DispatchQueue
    private let closures = Mutex(Closures())

    /// Makes a monitor without closures.
    public init(queue: DispatchQueue = .main) {
        self.queue = queue
    }

    private struct Closures: Sendable {
        var sessionDidBecomeInvalidWithError: (@Sendable (Session, (any Error)?) -> Void)?
        var taskWillPerformHTTPRedirection: (@Sendable (Session, SessionTask, HTTPURLResponse, URLRequest) -> Void)?
        var taskDidReceiveChallenge: (@Sendable (Session, SessionTask, URLAuthenticationChallenge) -> Void)?
        var taskNeedNewBodyStream: (@Sendable (Session, SessionTask) -> Void)?
        var taskIsWaitingForConnectivity: (@Sendable (Session, SessionTask) -> Void)?
        var taskDidSendBodyData: (@Sendable (Session, SessionTask, Int64, Int64, Int64) -> Void)?
        var taskDidFinishCollectingMetrics: (@Sendable (Session, SessionTask, TaskMetrics) -> Void)?
        var taskDidComplete: (@Sendable (Session, SessionTask, (any Error)?) -> Void)?
        var dataTaskDidReceiveResponse: (@Sendable (Session, SessionDataTask, URLResponse) -> Void)?
        var dataTaskWillCacheResponse: (@Sendable (Session, SessionDataTask, CachedURLResponse) -> Void)?
        var dataTaskDidReceiveData: (@Sendable (Session, SessionDataTask, Data) -> Void)?
        var downloadTaskDidFinishDownloadingToURL: (@Sendable (Session, SessionDownloadTask, URL) -> Void)?
        var downloadTaskDidWriteData: (@Sendable (Session, SessionDownloadTask, Int64, Int64, Int64) -> Void)?
        var downloadTaskDidResumeAtOffset: (@Sendable (Session, SessionDownloadTask, Int64, Int64) -> Void)?
        var requestDidCreateInitialURLRequest: (@Sendable (Request, URLRequest) -> Void)?
        var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, AFError) -> Void)?
        var requestDidAdaptInitialRequestToAdaptedRequest: (@Sendable (Request, URLRequest, URLRequest) -> Void)?
        var requestDidFailToAdaptURLRequestWithError: (@Sendable (Request, URLRequest, AFError) -> Void)?
        var requestDidCreateURLRequest: (@Sendable (Request, URLRequest) -> Void)?
        var requestDidCreateTask: (@Sendable (Request, SessionTask) -> Void)?
        var requestDidGatherMetrics: (@Sendable (Request, TaskMetrics) -> Void)?
        var requestDidFailTaskEarlyWithError: (@Sendable (Request, SessionTask, AFError) -> Void)?
        var requestDidCompleteTaskWithError: (@Sendable (Request, SessionTask, AFError?) -> Void)?
        var requestIsRetrying: (@Sendable (Request) -> Void)?
        var requestDidFinish: (@Sendable (Request) -> Void)?
        var requestDidResume: (@Sendable (Request) -> Void)?
        var requestDidResumeTask: (@Sendable (Request, SessionTask) -> Void)?
        var requestDidSuspend: (@Sendable (Request) -> Void)?
        var requestDidSuspendTask: (@Sendable (Request, SessionTask) -> Void)?
        var requestDidCancel: (@Sendable (Request) -> Void)?
        var requestDidCancelTask: (@Sendable (Request, SessionTask) -> Void)?
        var requestDidValidateRequestResponseDataWithResult:
            (@Sendable (DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
        var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, AFError>) -> Void)?
        var requestDidValidateRequestResponseWithResult:
            (@Sendable (DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
        var requestDidCreateUploadable: (@Sendable (UploadRequest, UploadRequest.Uploadable) -> Void)?
        var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, AFError) -> Void)?
        var requestDidProvideInputStream: (@Sendable (UploadRequest, InputStream) -> Void)?
        var requestDidFinishDownloadingUsingTaskWithResult:
            (@Sendable (DownloadRequest, SessionTask, Result<URL, AFError>) -> Void)?
        var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) -> Void)?
        var requestDidValidateRequestResponseFileURLWithResult:
            (@Sendable (DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
        var requestDidParseDownloadResponse: (@Sendable (DownloadRequest, DownloadResponse<URL?, AFError>) -> Void)?
    }

    /// The session was invalidated.
    public var sessionDidBecomeInvalidWithError: (@Sendable (Session, (any Error)?) -> Void)? {
        get { closures.withLock { $0.sessionDidBecomeInvalidWithError } }
        set { closures.withLock { $0.sessionDidBecomeInvalidWithError = newValue } }
    }

    /// A redirect is about to be followed.
    public var taskWillPerformHTTPRedirection: (@Sendable (Session, SessionTask, HTTPURLResponse, URLRequest) -> Void)?
    {
        get { closures.withLock { $0.taskWillPerformHTTPRedirection } }
        set { closures.withLock { $0.taskWillPerformHTTPRedirection = newValue } }
    }

    /// A challenge came.
    public var taskDidReceiveChallenge: (@Sendable (Session, SessionTask, URLAuthenticationChallenge) -> Void)? {
        get { closures.withLock { $0.taskDidReceiveChallenge } }
        set { closures.withLock { $0.taskDidReceiveChallenge = newValue } }
    }

    /// A stream that was read already is needed again.
    public var taskNeedNewBodyStream: (@Sendable (Session, SessionTask) -> Void)? {
        get { closures.withLock { $0.taskNeedNewBodyStream } }
        set { closures.withLock { $0.taskNeedNewBodyStream = newValue } }
    }

    /// There is no route to the task's host, and the task waits for one, as `TransportOptions.waitsForConnectivity`
    /// asks.
    public var taskIsWaitingForConnectivity: (@Sendable (Session, SessionTask) -> Void)? {
        get { closures.withLock { $0.taskIsWaitingForConnectivity } }
        set { closures.withLock { $0.taskIsWaitingForConnectivity = newValue } }
    }

    /// Content of the request was sent; -1 for an unknown length.
    public var taskDidSendBodyData: (@Sendable (Session, SessionTask, Int64, Int64, Int64) -> Void)? {
        get { closures.withLock { $0.taskDidSendBodyData } }
        set { closures.withLock { $0.taskDidSendBodyData = newValue } }
    }

    /// The metrics of a task are complete.
    public var taskDidFinishCollectingMetrics: (@Sendable (Session, SessionTask, TaskMetrics) -> Void)? {
        get { closures.withLock { $0.taskDidFinishCollectingMetrics } }
        set { closures.withLock { $0.taskDidFinishCollectingMetrics = newValue } }
    }

    /// A task ended.
    public var taskDidComplete: (@Sendable (Session, SessionTask, (any Error)?) -> Void)? {
        get { closures.withLock { $0.taskDidComplete } }
        set { closures.withLock { $0.taskDidComplete = newValue } }
    }

    /// The head of a response came.
    public var dataTaskDidReceiveResponse: (@Sendable (Session, SessionDataTask, URLResponse) -> Void)? {
        get { closures.withLock { $0.dataTaskDidReceiveResponse } }
        set { closures.withLock { $0.dataTaskDidReceiveResponse = newValue } }
    }

    /// Called when a response is about to be stored in the cache.
    public var dataTaskWillCacheResponse: (@Sendable (Session, SessionDataTask, CachedURLResponse) -> Void)? {
        get { closures.withLock { $0.dataTaskWillCacheResponse } }
        set { closures.withLock { $0.dataTaskWillCacheResponse = newValue } }
    }

    /// Content came.
    public var dataTaskDidReceiveData: (@Sendable (Session, SessionDataTask, Data) -> Void)? {
        get { closures.withLock { $0.dataTaskDidReceiveData } }
        set { closures.withLock { $0.dataTaskDidReceiveData = newValue } }
    }

    /// A download is complete, in its temporary place.
    public var downloadTaskDidFinishDownloadingToURL: (@Sendable (Session, SessionDownloadTask, URL) -> Void)? {
        get { closures.withLock { $0.downloadTaskDidFinishDownloadingToURL } }
        set { closures.withLock { $0.downloadTaskDidFinishDownloadingToURL = newValue } }
    }

    /// Content was written; -1 for an unknown length.
    public var downloadTaskDidWriteData: (@Sendable (Session, SessionDownloadTask, Int64, Int64, Int64) -> Void)? {
        get { closures.withLock { $0.downloadTaskDidWriteData } }
        set { closures.withLock { $0.downloadTaskDidWriteData = newValue } }
    }

    /// A download goes on behind bytes that were there; -1 for an unknown length of the whole.
    public var downloadTaskDidResumeAtOffset: (@Sendable (Session, SessionDownloadTask, Int64, Int64) -> Void)? {
        get { closures.withLock { $0.downloadTaskDidResumeAtOffset } }
        set { closures.withLock { $0.downloadTaskDidResumeAtOffset = newValue } }
    }

    /// The request was made, before any adapter.
    public var requestDidCreateInitialURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
        get { closures.withLock { $0.requestDidCreateInitialURLRequest } }
        set { closures.withLock { $0.requestDidCreateInitialURLRequest = newValue } }
    }

    /// The request could not be made.
    public var requestDidFailToCreateURLRequestWithError: (@Sendable (Request, AFError) -> Void)? {
        get { closures.withLock { $0.requestDidFailToCreateURLRequestWithError } }
        set { closures.withLock { $0.requestDidFailToCreateURLRequestWithError = newValue } }
    }

    /// The adapters have changed the request.
    public var requestDidAdaptInitialRequestToAdaptedRequest: (@Sendable (Request, URLRequest, URLRequest) -> Void)? {
        get { closures.withLock { $0.requestDidAdaptInitialRequestToAdaptedRequest } }
        set { closures.withLock { $0.requestDidAdaptInitialRequestToAdaptedRequest = newValue } }
    }

    /// An adapter failed.
    public var requestDidFailToAdaptURLRequestWithError: (@Sendable (Request, URLRequest, AFError) -> Void)? {
        get { closures.withLock { $0.requestDidFailToAdaptURLRequestWithError } }
        set { closures.withLock { $0.requestDidFailToAdaptURLRequestWithError = newValue } }
    }

    /// The request that will be sent is there.
    public var requestDidCreateURLRequest: (@Sendable (Request, URLRequest) -> Void)? {
        get { closures.withLock { $0.requestDidCreateURLRequest } }
        set { closures.withLock { $0.requestDidCreateURLRequest = newValue } }
    }

    /// A task was made.
    public var requestDidCreateTask: (@Sendable (Request, SessionTask) -> Void)? {
        get { closures.withLock { $0.requestDidCreateTask } }
        set { closures.withLock { $0.requestDidCreateTask = newValue } }
    }

    /// The metrics of a task are complete.
    public var requestDidGatherMetrics: (@Sendable (Request, TaskMetrics) -> Void)? {
        get { closures.withLock { $0.requestDidGatherMetrics } }
        set { closures.withLock { $0.requestDidGatherMetrics = newValue } }
    }

    /// A task failed before it ended by itself.
    public var requestDidFailTaskEarlyWithError: (@Sendable (Request, SessionTask, AFError) -> Void)? {
        get { closures.withLock { $0.requestDidFailTaskEarlyWithError } }
        set { closures.withLock { $0.requestDidFailTaskEarlyWithError = newValue } }
    }

    /// A task ended and was validated.
    public var requestDidCompleteTaskWithError: (@Sendable (Request, SessionTask, AFError?) -> Void)? {
        get { closures.withLock { $0.requestDidCompleteTaskWithError } }
        set { closures.withLock { $0.requestDidCompleteTaskWithError = newValue } }
    }

    /// The request is tried again.
    public var requestIsRetrying: (@Sendable (Request) -> Void)? {
        get { closures.withLock { $0.requestIsRetrying } }
        set { closures.withLock { $0.requestIsRetrying = newValue } }
    }

    /// The outcome of the request stands.
    public var requestDidFinish: (@Sendable (Request) -> Void)? {
        get { closures.withLock { $0.requestDidFinish } }
        set { closures.withLock { $0.requestDidFinish = newValue } }
    }

    /// The request was resumed.
    public var requestDidResume: (@Sendable (Request) -> Void)? {
        get { closures.withLock { $0.requestDidResume } }
        set { closures.withLock { $0.requestDidResume = newValue } }
    }

    /// A task was resumed.
    public var requestDidResumeTask: (@Sendable (Request, SessionTask) -> Void)? {
        get { closures.withLock { $0.requestDidResumeTask } }
        set { closures.withLock { $0.requestDidResumeTask = newValue } }
    }

    /// The request was suspended.
    public var requestDidSuspend: (@Sendable (Request) -> Void)? {
        get { closures.withLock { $0.requestDidSuspend } }
        set { closures.withLock { $0.requestDidSuspend = newValue } }
    }

    /// A task was suspended.
    public var requestDidSuspendTask: (@Sendable (Request, SessionTask) -> Void)? {
        get { closures.withLock { $0.requestDidSuspendTask } }
        set { closures.withLock { $0.requestDidSuspendTask = newValue } }
    }

    /// The request was cancelled.
    public var requestDidCancel: (@Sendable (Request) -> Void)? {
        get { closures.withLock { $0.requestDidCancel } }
        set { closures.withLock { $0.requestDidCancel = newValue } }
    }

    /// A task was cancelled.
    public var requestDidCancelTask: (@Sendable (Request, SessionTask) -> Void)? {
        get { closures.withLock { $0.requestDidCancelTask } }
        set { closures.withLock { $0.requestDidCancelTask = newValue } }
    }

    /// A validation of a data request ran.
    public var requestDidValidateRequestResponseDataWithResult:
        (@Sendable (DataRequest, URLRequest?, HTTPURLResponse, Data?, Request.ValidationResult) -> Void)?
    {
        get { closures.withLock { $0.requestDidValidateRequestResponseDataWithResult } }
        set { closures.withLock { $0.requestDidValidateRequestResponseDataWithResult = newValue } }
    }

    /// An unserialised response of a data request is there.
    public var requestDidParseResponse: (@Sendable (DataRequest, DataResponse<Data?, AFError>) -> Void)? {
        get { closures.withLock { $0.requestDidParseResponse } }
        set { closures.withLock { $0.requestDidParseResponse = newValue } }
    }

    /// A validation of a stream request ran.
    public var requestDidValidateRequestResponseWithResult:
        (@Sendable (DataStreamRequest, URLRequest?, HTTPURLResponse, Request.ValidationResult) -> Void)?
    {
        get { closures.withLock { $0.requestDidValidateRequestResponseWithResult } }
        set { closures.withLock { $0.requestDidValidateRequestResponseWithResult = newValue } }
    }

    /// The content to upload was made.
    public var requestDidCreateUploadable: (@Sendable (UploadRequest, UploadRequest.Uploadable) -> Void)? {
        get { closures.withLock { $0.requestDidCreateUploadable } }
        set { closures.withLock { $0.requestDidCreateUploadable = newValue } }
    }

    /// The content to upload could not be made.
    public var requestDidFailToCreateUploadableWithError: (@Sendable (UploadRequest, AFError) -> Void)? {
        get { closures.withLock { $0.requestDidFailToCreateUploadableWithError } }
        set { closures.withLock { $0.requestDidFailToCreateUploadableWithError = newValue } }
    }

    /// A stream was given to be sent.
    public var requestDidProvideInputStream: (@Sendable (UploadRequest, InputStream) -> Void)? {
        get { closures.withLock { $0.requestDidProvideInputStream } }
        set { closures.withLock { $0.requestDidProvideInputStream = newValue } }
    }

    /// The content of a download is complete.
    public var requestDidFinishDownloadingUsingTaskWithResult:
        (@Sendable (DownloadRequest, SessionTask, Result<URL, AFError>) -> Void)?
    {
        get { closures.withLock { $0.requestDidFinishDownloadingUsingTaskWithResult } }
        set { closures.withLock { $0.requestDidFinishDownloadingUsingTaskWithResult = newValue } }
    }

    /// The destination of a download is known.
    public var requestDidCreateDestinationURL: (@Sendable (DownloadRequest, URL) -> Void)? {
        get { closures.withLock { $0.requestDidCreateDestinationURL } }
        set { closures.withLock { $0.requestDidCreateDestinationURL = newValue } }
    }

    /// A validation of a download ran.
    public var requestDidValidateRequestResponseFileURLWithResult:
        (@Sendable (DownloadRequest, URLRequest?, HTTPURLResponse, URL?, Request.ValidationResult) -> Void)?
    {
        get { closures.withLock { $0.requestDidValidateRequestResponseFileURLWithResult } }
        set { closures.withLock { $0.requestDidValidateRequestResponseFileURLWithResult = newValue } }
    }

    /// An unserialised response of a download is there.
    public var requestDidParseDownloadResponse: (@Sendable (DownloadRequest, DownloadResponse<URL?, AFError>) -> Void)?
    {
        get { closures.withLock { $0.requestDidParseDownloadResponse } }
        set { closures.withLock { $0.requestDidParseDownloadResponse = newValue } }
    }

    /// Calls `sessionDidBecomeInvalidWithError`.
    open func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {
        sessionDidBecomeInvalidWithError?(session, error)
    }

    /// Calls `taskWillPerformHTTPRedirection`.
    open func urlSession(
        _ session: Session, task: SessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {
        taskWillPerformHTTPRedirection?(session, task, response, request)
    }

    /// Calls `taskDidReceiveChallenge`.
    open func urlSession(_ session: Session, task: SessionTask, didReceive challenge: URLAuthenticationChallenge) {
        taskDidReceiveChallenge?(session, task, challenge)
    }

    /// Calls `taskNeedNewBodyStream`.
    open func urlSession(_ session: Session, taskNeedsNewBodyStream task: SessionTask) {
        taskNeedNewBodyStream?(session, task)
    }

    /// Calls `taskIsWaitingForConnectivity`.
    open func urlSession(_ session: Session, taskIsWaitingForConnectivity task: SessionTask) {
        taskIsWaitingForConnectivity?(session, task)
    }

    /// Calls `taskDidSendBodyData`.
    open func urlSession(
        _ session: Session, task: SessionTask, didSendBodyData byteCount: Int64, totalBytesSent total: Int64,
        totalBytesExpectedToSend expected: Int64
    ) {
        taskDidSendBodyData?(session, task, byteCount, total, expected)
    }

    /// Calls `taskDidFinishCollectingMetrics`.
    open func urlSession(_ session: Session, task: SessionTask, didFinishCollecting metrics: TaskMetrics) {
        taskDidFinishCollectingMetrics?(session, task, metrics)
    }

    /// Calls `taskDidComplete`.
    open func urlSession(_ session: Session, task: SessionTask, didCompleteWithError error: (any Error)?) {
        taskDidComplete?(session, task, error)
    }

    /// Calls `dataTaskDidReceiveResponse`.
    open func urlSession(_ session: Session, dataTask: SessionDataTask, didReceive response: URLResponse) {
        dataTaskDidReceiveResponse?(session, dataTask, response)
    }

    /// Calls `dataTaskDidReceiveData`.
    open func urlSession(_ session: Session, dataTask: SessionDataTask, didReceive data: Data) {
        dataTaskDidReceiveData?(session, dataTask, data)
    }

    /// Calls `dataTaskWillCacheResponse`.
    open func urlSession(
        _ session: Session, dataTask: SessionDataTask, willCacheResponse response: CachedURLResponse
    ) {
        dataTaskWillCacheResponse?(session, dataTask, response)
    }

    /// Calls `downloadTaskDidFinishDownloadingToURL`.
    open func urlSession(_ session: Session, downloadTask: SessionDownloadTask, didFinishDownloadingTo location: URL) {
        downloadTaskDidFinishDownloadingToURL?(session, downloadTask, location)
    }

    /// Calls `downloadTaskDidWriteData`.
    open func urlSession(
        _ session: Session, downloadTask: SessionDownloadTask, didWriteData byteCount: Int64,
        totalBytesWritten total: Int64, totalBytesExpectedToWrite expected: Int64
    ) {
        downloadTaskDidWriteData?(session, downloadTask, byteCount, total, expected)
    }

    /// Calls `downloadTaskDidResumeAtOffset`.
    open func urlSession(
        _ session: Session, downloadTask: SessionDownloadTask, didResumeAtOffset offset: Int64,
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
    open func request(_ request: Request, didCreateTask task: SessionTask) {
        requestDidCreateTask?(request, task)
    }

    /// Calls `requestDidGatherMetrics`.
    open func request(_ request: Request, didGatherMetrics metrics: TaskMetrics) {
        requestDidGatherMetrics?(request, metrics)
    }

    /// Calls `requestDidFailTaskEarlyWithError`.
    open func request(_ request: Request, didFailTask task: SessionTask, earlyWithError error: AFError) {
        requestDidFailTaskEarlyWithError?(request, task, error)
    }

    /// Calls `requestDidCompleteTaskWithError`.
    open func request(_ request: Request, didCompleteTask task: SessionTask, with error: AFError?) {
        requestDidCompleteTaskWithError?(request, task, error)
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
    open func request(_ request: Request, didResumeTask task: SessionTask) {
        requestDidResumeTask?(request, task)
    }

    /// Calls `requestDidSuspend`.
    open func requestDidSuspend(_ request: Request) {
        requestDidSuspend?(request)
    }

    /// Calls `requestDidSuspendTask`.
    open func request(_ request: Request, didSuspendTask task: SessionTask) {
        requestDidSuspendTask?(request, task)
    }

    /// Calls `requestDidCancel`.
    open func requestDidCancel(_ request: Request) {
        requestDidCancel?(request)
    }

    /// Calls `requestDidCancelTask`.
    open func request(_ request: Request, didCancelTask task: SessionTask) {
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
        _ request: DownloadRequest, didFinishDownloadingUsing task: SessionTask, with result: Result<URL, AFError>
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
