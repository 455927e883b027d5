// The events of sessions, requests and tasks.

public import Dispatch
public import FireweedTransport
public import Foundation
public import FoundationNetworking

/// An observer of the events of a session, or of one request.
///
/// Every method is called on `queue`, in the order in which the events happened, and has a default implementation that
/// does nothing. The orders of events follow; an event is named by the last words of its method:
///
/// - A success: `requestDidResume`, `didCreateInitialURLRequest`, `didAdaptInitialRequest` where there is an adapter,
///   `didCreateURLRequest`, `didCreateTask`, `didResumeTask`, the task's `didReceive response` and `didReceive data`,
///   the task's `didFinishCollecting`, `didGatherMetrics`, the task's `didCompleteWithError`, one `didValidateRequest`
///   for each validator, `didCompleteTask`, `requestDidFinish`, one `didParseResponse` for each serialiser.
/// - A failure before the task: `requestDidResume`, `didFailToCreateURLRequestWithError` or `didFailToAdaptURLRequest`,
///   then `requestDidFinish`.
/// - An upload: `didCreateUploadable` or `didFailToCreateUploadableWithError` after `didCreateInitialURLRequest`; a
///   stream's `taskNeedsNewBodyStream` and `didProvideInputStream` come after `didResumeTask`. `didSendBodyData`
///   normally comes before the response.
/// - A download: `didWriteData`, `didFinishDownloadingTo`, `didCreateDestinationURL`, `didFinishDownloadingUsing`, and
///   the end of the task.
/// - A redirect: `willPerformHTTPRedirection` for each redirect, before the final response. A challenge:
///   `didReceive challenge` for each challenge, before the final response.
/// - A retry: `requestIsRetrying` after `didCompleteTask`, and then all events again except `requestDidResume`.
/// - A cancellation: `requestDidCancel`, `didCancelTask`, and the end of the task. A suspension: `requestDidSuspend`
///   and `didSuspendTask`.
public protocol EventMonitor: Sendable {
    /// The queue on which the monitor is called; `.main` unless the monitor has its own.
    ///
    /// Read for each event on the thread of the event, which may be an event loop's thread: the getter must not block.
    var queue: DispatchQueue { get }
    /// The events that the monitor wants; `.all` unless the monitor says otherwise.
    ///
    /// Read once, when the monitor is given to a session or a request. Other events are not announced to it.
    var events: MonitoredEvents { get }

    /// The session was invalidated.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - error: the error of `Session.invalidate(with:)`, in `AFError.sessionInvalidated(error:)`; `nil` when the
    ///     session was released, drained, or invalidated through Foundation's session.
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
    /// A challenge came (401 or 407), whether it can be answered or not.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - task: the task whose message was challenged.
    ///   - challenge: the challenge; a monitor cannot answer it.
    func urlSession(_ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge)
    /// The upload of an `InputStream` needs its stream, or a redirect, an answer to a challenge or a retry needs a new
    /// stream.
    ///
    /// Without a new stream the task fails with `URLError.requestBodyStreamExhausted`; a ``SessionDelegate`` can give
    /// one.
    func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask)
    /// There is no route to the task's host, and the task waits for one.
    ///
    /// Called only for a session with `waitsForConnectivity`, each time that a task begins to wait. Without that
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
    /// The metrics of a task are complete; called before the end of the task.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics)
    /// A task ended; the response is not validated yet.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - task: the task that ended.
    ///   - error: the error of the transport, mostly a `URLError`; `nil` when a whole response came, whatever its
    ///     status.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
    /// The head of the final response came; redirects and answered challenges have their own events.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse)
    /// Content came: `data` has the bytes since the last call, with content codings removed.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
    /// A response is about to be stored in the cache; a ``CachedResponseHandler`` may still change or refuse it.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse response: CachedURLResponse)
    /// The content of a download is complete.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - downloadTask: the task of the download.
    ///   - location: the temporary file, which is moved to the destination next.
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)
    /// Content of a download was written to its file.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - downloadTask: the task of the download.
    ///   - byteCount: the bytes that were written since the last call.
    ///   - total: the bytes in the file, including those of an earlier download.
    ///   - expected: the length of the whole file in bytes; -1 where it is not known.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData byteCount: Int64,
        totalBytesWritten total: Int64, totalBytesExpectedToWrite expected: Int64
    )
    /// A download continues an earlier download.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - downloadTask: the task of the download.
    ///   - offset: the number of bytes that the earlier download has stored.
    ///   - expected: the length of the whole file in bytes; -1 where it is not known.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset offset: Int64,
        expectedTotalBytes expected: Int64
    )
    /// The `URLRequest` was made; the adapters have not run yet.
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest)
    /// The `URLRequest` could not be made, so that the request ends with `error`, for instance
    /// `AFError.invalidURL(url:)`.
    func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError)
    /// The adapters have run, even if they changed nothing; not called when there is no adapter.
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
    /// The `URLRequest` that will be sent is complete: the adapters have run.
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest)
    /// A task was made: one for each attempt of the request.
    func request(_ request: Request, didCreateTask task: URLSessionTask)
    /// The metrics of an attempt are complete; the same values as in `urlSession(_:task:didFinishCollecting:)`.
    func request(_ request: Request, didGatherMetrics metrics: TaskMetrics)
    /// A task failed before its own end was reported, for instance because the server is not trusted or a file could
    /// not be written.
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
    ///   - error: the task's own error, such as `URLError.cancelled` inside `AFError.sessionTaskFailed(error:)` after a
    ///     cancel; `nil` when the whole response came, also where a validator refuses the response.
    func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?)
    /// A ``RateLimiter`` holds the request back.
    ///
    /// - Parameters:
    ///   - request: the request, which has no task yet.
    ///   - duration: the expected time for which the request waits.
    func request(_ request: Request, isWaitingForRateLimit duration: Duration)
    /// A message of the request was refused and not sent, to protect its server.
    ///
    /// The request fails with the same error inside `AFError.sessionTaskFailed(error:)`, unless a stored response
    /// answers it or a retrier retries it.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - error: the origin, and the reason of the refusal.
    func request(_ request: Request, wasRefused error: OverloadError)
    /// The request is about to be retried; the delay that a retrier asked for has not begun.
    func requestIsRetrying(_ request: Request)
    /// The request is finished: validation and retriers are done, and the serialisers run next.
    ///
    /// When a serialiser fails and a retrier asks for a retry, the request finishes once more later.
    func requestDidFinish(_ request: Request)
    /// The request was resumed.
    func requestDidResume(_ request: Request)
    /// A task was resumed because its request was resumed.
    func request(_ request: Request, didResumeTask task: URLSessionTask)
    /// The request was suspended.
    func requestDidSuspend(_ request: Request)
    /// A task was suspended because its request was suspended.
    func request(_ request: Request, didSuspendTask task: URLSessionTask)
    /// The request was cancelled.
    func requestDidCancel(_ request: Request)
    /// A task was cancelled because its request was cancelled.
    func request(_ request: Request, didCancelTask task: URLSessionTask)
    /// One validation of a data request ran; called for each validator until one fails.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - urlRequest: the message that was sent last.
    ///   - response: the head of the response.
    ///   - data: the content; `nil` when there is none.
    ///   - result: success, or the error that the request ends with unless it is retried.
    func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    )
    /// The response of a data request is ready for a handler that has no serialiser.
    func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>)
    /// One validation of a stream request ran; called for each validator until one fails.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - urlRequest: the message that was sent last.
    ///   - response: the head of the response.
    ///   - result: success, or the error that the request ends with unless it is retried.
    func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    )
    /// The content to upload was made; called after `didCreateInitialURLRequest`, before the adapters run.
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable)
    /// The content to upload could not be made, so that the request ends with `error`.
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError)
    /// The stream of an upload is about to be opened and sent.
    func request(_ request: UploadRequest, didProvideInputStream stream: InputStream)
    /// The file of a download is complete at its final location, or could not be moved there.
    ///
    /// - Parameters:
    ///   - request: the download.
    ///   - task: the task that brought the content.
    ///   - result: the location of the file, or the error.
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    )
    /// The location of a download's file is known: its destination, or the temporary file when it has no destination.
    ///
    /// The file has not been moved to `url` yet.
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL)
    /// One validation of a download ran; called for each validator until one fails.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - urlRequest: the message that was sent last.
    ///   - response: the head of the response.
    ///   - fileURL: where the content is; `nil` when there is no file.
    ///   - result: success, or the error that the request ends with unless it is retried.
    func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    )
    /// The response of a download is ready for a handler that has no serialiser.
    func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>)
    /// A serialiser has run for a handler of a data request; `response` has its value or its error.
    @preconcurrency
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>)
    /// A serialiser has run for a piece of a stream; `result` has its value or its error.
    @preconcurrency
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>)
    /// A serialiser has run for a handler of a download; `response` has its value or its error.
    @preconcurrency
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    )
}

extension EventMonitor {
    /// The main queue.
    public var queue: DispatchQueue { .main }
    /// All events.
    public var events: MonitoredEvents { .all }

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
    public func request(_ request: Request, isWaitingForRateLimit duration: Duration) {}
    /// Does nothing.
    public func request(_ request: Request, wasRefused error: OverloadError) {}
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
