// The events of sessions, requests and tasks.

public import Dispatch
public import Foundation
public import FoundationNetworking

/// Is told of the events of a session or of one request.
///
/// Every method is called on `queue`, in the order in which the events happened; every one has a default that does
/// nothing. The orders, by the last words of the methods:
///
/// - A success: `requestDidResume`, `didCreateInitialURLRequest`, `didAdaptInitialRequest` where there is an adapter,
///   `didCreateURLRequest`, `didCreateTask`, `didResumeTask`, the task's `didReceive response` and `didReceive data`,
///   the task's `didFinishCollecting`, `didGatherMetrics`, the task's `didCompleteWithError`, one `didValidateRequest`
///   for each validator, `didCompleteTask`, `requestDidFinish`, one `didParseResponse` for each serialiser.
/// - A failure before the task: `requestDidResume`, `didFailToCreateURLRequestWithError` or `didFailToAdaptURLRequest`,
///   then `requestDidFinish`.
/// - An upload: `didCreateUploadable` before `didCreateInitialURLRequest`, or `didFailToCreateUploadableWithError`
///   alone; a stream's `taskNeedsNewBodyStream` and `didProvideInputStream` come after `didResumeTask`.
///   `didSendBodyData` comes before the response.
/// - A download: `didWriteData`, `didFinishDownloadingTo`, `didCreateDestinationURL`, `didFinishDownloadingUsing`, and
///   the end of the task.
/// - A redirect: `willPerformHTTPRedirection` for each, before the final response. A challenge: `didReceive challenge`
///   likewise.
/// - A retry: `requestIsRetrying` after `didCompleteTask`, and then everything again but `requestDidResume`.
/// - A cancel: `requestDidCancel`, `didCancelTask`, and the end of the task; suspending likewise.
public protocol EventMonitor: Sendable {
    /// The queue to be called on; `.main` unless the monitor says otherwise.
    var queue: DispatchQueue { get }

    /// The session was invalidated, or its last reference went: then without an error.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)
    /// A redirect is about to be followed, or to be shown to the redirect handler.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - task: the task that is redirected.
    ///   - response: the response with the redirect.
    ///   - request: the request that follows, as the rules make it; a redirect handler may still change it.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    )
    /// A challenge came (401 or 407), whether it can be answered or not; monitors watch, and answering it has no
    /// effect.
    func urlSession(_ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge)
    /// The upload of an `InputStream` needs its stream, or a redirect, an answer to a challenge or a retry needs a new
    /// one.
    ///
    /// Without a new stream the task fails with `URLError.requestBodyStreamExhausted`; a `SessionDelegate` can give
    /// one.
    func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask)
    /// There is no route to the task's host, and the task waits for one.
    ///
    /// Called with `waitsForConnectivity` of the session alone, each time that a task begins to wait; without that
    /// option, a task that has no route fails.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)
    /// Content of the request was sent.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - task: the task whose content was sent.
    ///   - byteCount: the bytes that were sent since the last call.
    ///   - total: the bytes that were sent in all.
    ///   - expected: the length of the content in bytes; -1 where it is not known.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData byteCount: Int64, totalBytesSent total: Int64,
        totalBytesExpectedToSend expected: Int64
    )
    /// The metrics of a task are complete.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics)
    /// A task ended.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
    /// The head of a response came.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse)
    /// Content came.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
    /// A response is about to be stored in the cache.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse response: CachedURLResponse)
    /// A download is complete, in its temporary place.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)
    /// Content of a download was written to its file.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - downloadTask: the task of the download.
    ///   - byteCount: the bytes that were written since the last call.
    ///   - total: the bytes in the file, those of an earlier download included.
    ///   - expected: the length of the whole file in bytes; -1 where it is not known.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData byteCount: Int64,
        totalBytesWritten total: Int64, totalBytesExpectedToWrite expected: Int64
    )
    /// A download continues where an earlier one ended.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - downloadTask: the task of the download.
    ///   - offset: the bytes that the earlier download left.
    ///   - expected: the length of the whole file in bytes; -1 where it is not known.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset offset: Int64,
        expectedTotalBytes expected: Int64
    )
    /// The request was made, before any adapter.
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest)
    /// The request could not be made.
    func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError)
    /// The adapters are done with the request; also where they changed nothing.
    ///
    /// - Parameters:
    ///   - request: the request that was adapted.
    ///   - initial: the `URLRequest` before the adapters.
    ///   - adapted: the `URLRequest` that is sent.
    func request(_ request: Request, didAdaptInitialRequest initial: URLRequest, to adapted: URLRequest)
    /// An adapter failed, so that the request ends.
    ///
    /// - Parameters:
    ///   - request: the request that was to be adapted.
    ///   - initial: the `URLRequest` before the adapters.
    ///   - error: `AFError.requestAdaptationFailed(error:)` with the adapter's error.
    func request(_ request: Request, didFailToAdaptURLRequest initial: URLRequest, withError error: AFError)
    /// The request that will be sent is there.
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest)
    /// A task was made.
    func request(_ request: Request, didCreateTask task: URLSessionTask)
    /// The metrics of a task are complete.
    func request(_ request: Request, didGatherMetrics metrics: TaskMetrics)
    /// A task failed before it was told of its end, as when a server is not trusted.
    ///
    /// - Parameters:
    ///   - request: the request of the task.
    ///   - task: the task that failed.
    ///   - error: the error that the request ends with, unless it is retried.
    func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError)
    /// A task ended and its response was validated; before the retriers are asked.
    ///
    /// - Parameters:
    ///   - request: the request of the task.
    ///   - task: the task that ended.
    ///   - error: the error of the task or of a validation; `nil` after a success.
    func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?)
    /// The request is tried again.
    func requestIsRetrying(_ request: Request)
    /// The outcome of the request stands.
    func requestDidFinish(_ request: Request)
    /// The request was resumed.
    func requestDidResume(_ request: Request)
    /// A task was resumed.
    func request(_ request: Request, didResumeTask task: URLSessionTask)
    /// The request was suspended.
    func requestDidSuspend(_ request: Request)
    /// A task was suspended.
    func request(_ request: Request, didSuspendTask task: URLSessionTask)
    /// The request was cancelled.
    func requestDidCancel(_ request: Request)
    /// A task was cancelled.
    func request(_ request: Request, didCancelTask task: URLSessionTask)
    /// A validation of a data request ran.
    func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    )
    /// An unserialised response of a data request is there.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>)
    /// A validation of a stream request ran.
    func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    )
    /// The content to upload was made.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
    /// The content to upload could not be made.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError)
    /// A stream was given to be sent.
    func request(_ request: UploadRequest, didProvideInputStream stream: InputStream)
    /// The file of a download is complete and in its place, or could not be put there.
    ///
    /// - Parameters:
    ///   - request: the download.
    ///   - task: the task that brought the content.
    ///   - result: where the file is; or why it is not there.
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    )
    /// The destination of a download is known.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
    /// A validation of a download ran.
    func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    )
    /// An unserialised response of a download is there.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>)
    /// A serialised response of a data request is there.
    @preconcurrency
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>)
    /// A value of a stream is there.
    @preconcurrency
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>)
    /// A serialised response of a download is there.
    @preconcurrency
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    )
}

extension EventMonitor {
    /// The main queue.
    public var queue: DispatchQueue { .main }

    /// Does nothing.
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) {
    }
    /// Does nothing.
    public func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData byteCount: Int64, totalBytesSent total: Int64,
        totalBytesExpectedToSend expected: Int64
    ) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {}
    /// Does nothing.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse response: CachedURLResponse
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData byteCount: Int64,
        totalBytesWritten total: Int64, totalBytesExpectedToWrite expected: Int64
    ) {}
    /// Does nothing.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset offset: Int64,
        expectedTotalBytes expected: Int64
    ) {}
    /// Does nothing.
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {}
    /// Does nothing.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) {}
    /// Does nothing.
    public func request(_ request: Request, didAdaptInitialRequest initial: URLRequest, to adapted: URLRequest) {}
    /// Does nothing.
    public func request(_ request: Request, didFailToAdaptURLRequest initial: URLRequest, withError error: AFError) {}
    /// Does nothing.
    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {}
    /// Does nothing.
    public func request(_ request: Request, didCreateTask task: URLSessionTask) {}
    /// Does nothing.
    public func request(_ request: Request, didGatherMetrics metrics: TaskMetrics) {}
    /// Does nothing.
    public func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError) {}
    /// Does nothing.
    public func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {}
    /// Does nothing.
    public func requestIsRetrying(_ request: Request) {}
    /// Does nothing.
    public func requestDidFinish(_ request: Request) {}
    /// Does nothing.
    public func requestDidResume(_ request: Request) {}
    /// Does nothing.
    public func request(_ request: Request, didResumeTask task: URLSessionTask) {}
    /// Does nothing.
    public func requestDidSuspend(_ request: Request) {}
    /// Does nothing.
    public func request(_ request: Request, didSuspendTask task: URLSessionTask) {}
    /// Does nothing.
    public func requestDidCancel(_ request: Request) {}
    /// Does nothing.
    public func request(_ request: Request, didCancelTask task: URLSessionTask) {}
    /// Does nothing.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {}
    /// Does nothing.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {}
    /// Does nothing.
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {}
    /// Does nothing.
    public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {}
    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    ) {}
    /// Does nothing.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {}
    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {}
    /// Does nothing.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {}
    /// Does nothing.
    @preconcurrency
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>
    ) {}
    /// Does nothing.
    @preconcurrency
    public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>) {}
    /// Does nothing.
    @preconcurrency
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) {}
}
