// A monitor that passes events on to several monitors.

public import Dispatch
public import FireweedTransport
public import Foundation
public import FoundationNetworking

/// Passes every event on to several monitors, each on its own queue.
public final class CompositeEventMonitor: EventMonitor {
    /// The monitors, in the order in which an event is passed to them.
    public let monitors: [any EventMonitor]
    /// Not used by the session: each monitor is called on its own queue.
    public let queue = DispatchQueue(label: "org.alamofire.compositeEventMonitor")

    /// The events that at least one of the monitors, or the session's delegate, wants.
    public let events: MonitoredEvents

    /// Notified before the monitors; `nil` unless the session's delegate is a subclass.
    private let delegate: DelegateEvents?
    private let mailboxes: [MonitorMailbox]

    init(monitors: [any EventMonitor], delegate: DelegateEvents? = nil) {
        self.monitors = monitors
        self.delegate = delegate
        mailboxes = monitors.map { MonitorMailbox($0) }
        events = mailboxes.reduce(delegate?.events ?? []) { $0.union($1.events) }
    }

    /// Calls `event` with each monitor that wants events of `kind`, on the monitor's queue.
    func notify(
        _ kind: MonitoredEvents, includingDelegate: Bool = true,
        _ event: @escaping @Sendable (any EventMonitor) -> Void
    ) {
        if includingDelegate, let delegate, delegate.events.contains(kind) {
            // No mailbox here, since its block also passes on later events, before calls that were already queued. The
            // delegate's methods that make decisions are called on this queue, and their order with the events must be
            // kept.
            delegate.queue.async { event(delegate) }
        }
        for mailbox in mailboxes where mailbox.events.contains(kind) { mailbox.post(event) }
    }

    /// Notifies every monitor.
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        notify(.invalidation) { $0.urlSession(session, didBecomeInvalidWithError: error) }
    }

    /// Notifies every monitor.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) {
        notify(.redirects) {
            $0.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request)
        }
    }

    /// Notifies every monitor.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) {
        let shown = SendableChallenge(challenge)
        notify(.challenges) { $0.urlSession(session, task: task, didReceive: shown.value) }
    }

    /// Notifies every monitor.
    public func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) {
        notify(.uploads) { $0.urlSession(session, taskNeedsNewBodyStream: task) }
    }

    /// Notifies every monitor.
    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        notify(.waiting) { $0.urlSession(session, taskIsWaitingForConnectivity: task) }
    }

    /// Notifies every monitor.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData byteCount: Int64, totalBytesSent total: Int64,
        totalBytesExpectedToSend expected: Int64
    ) {
        notify(.uploads) {
            $0.urlSession(
                session, task: task, didSendBodyData: byteCount, totalBytesSent: total,
                totalBytesExpectedToSend: expected)
        }
    }

    /// Notifies every monitor.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics) {
        notify(.metrics) { $0.urlSession(session, task: task, didFinishCollecting: metrics) }
    }

    /// Notifies every monitor.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        notify(.taskEnds) { $0.urlSession(session, task: task, didCompleteWithError: error) }
    }

    /// Notifies every monitor.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {
        notify(.responses) { $0.urlSession(session, dataTask: dataTask, didReceive: response) }
    }

    /// Notifies every monitor.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        notify(.content) { $0.urlSession(session, dataTask: dataTask, didReceive: data) }
    }

    /// Notifies every monitor.
    public func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse response: CachedURLResponse
    ) {
        notify(.caching) { $0.urlSession(session, dataTask: dataTask, willCacheResponse: response) }
    }

    /// Notifies every monitor.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        notify(.downloads) { $0.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location) }
    }

    /// Notifies every monitor.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData byteCount: Int64,
        totalBytesWritten total: Int64, totalBytesExpectedToWrite expected: Int64
    ) {
        notify(.content) {
            $0.urlSession(
                session, downloadTask: downloadTask, didWriteData: byteCount, totalBytesWritten: total,
                totalBytesExpectedToWrite: expected)
        }
    }

    /// Notifies every monitor.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset offset: Int64,
        expectedTotalBytes expected: Int64
    ) {
        notify(.downloads) {
            $0.urlSession(
                session, downloadTask: downloadTask, didResumeAtOffset: offset, expectedTotalBytes: expected)
        }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
        notify(.requestMaking) { $0.request(request, didCreateInitialURLRequest: urlRequest) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) {
        notify(.requestMaking) { $0.request(request, didFailToCreateURLRequestWithError: error) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didAdaptInitialRequest initial: URLRequest, to adapted: URLRequest) {
        notify(.requestMaking) { $0.request(request, didAdaptInitialRequest: initial, to: adapted) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didFailToAdaptURLRequest initial: URLRequest, withError error: AFError) {
        notify(.requestMaking) { $0.request(request, didFailToAdaptURLRequest: initial, withError: error) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
        notify(.requestMaking) { $0.request(request, didCreateURLRequest: urlRequest) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didCreateTask task: URLSessionTask) {
        notify(.tasks) { $0.request(request, didCreateTask: task) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didGatherMetrics metrics: TaskMetrics) {
        notify(.metrics) { $0.request(request, didGatherMetrics: metrics) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError) {
        notify(.taskEnds) { $0.request(request, didFailTask: task, earlyWithError: error) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        notify(.taskEnds) { $0.request(request, didCompleteTask: task, with: error) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, isWaitingForRateLimit duration: Duration) {
        notify(.waiting) { $0.request(request, isWaitingForRateLimit: duration) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, wasRefused error: OverloadError) {
        notify(.refusals) { $0.request(request, wasRefused: error) }
    }

    /// Notifies every monitor.
    public func requestIsRetrying(_ request: Request) {
        notify(.lifecycle) { $0.requestIsRetrying(request) }
    }

    /// Notifies every monitor.
    public func requestDidFinish(_ request: Request) {
        notify(.completion) { $0.requestDidFinish(request) }
    }

    /// Notifies every monitor.
    public func requestDidResume(_ request: Request) {
        notify(.lifecycle) { $0.requestDidResume(request) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didResumeTask task: URLSessionTask) {
        notify(.tasks) { $0.request(request, didResumeTask: task) }
    }

    /// Notifies every monitor.
    public func requestDidSuspend(_ request: Request) {
        notify(.lifecycle) { $0.requestDidSuspend(request) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didSuspendTask task: URLSessionTask) {
        notify(.tasks) { $0.request(request, didSuspendTask: task) }
    }

    /// Notifies every monitor.
    public func requestDidCancel(_ request: Request) {
        notify(.lifecycle) { $0.requestDidCancel(request) }
    }

    /// Notifies every monitor.
    public func request(_ request: Request, didCancelTask task: URLSessionTask) {
        notify(.tasks) { $0.request(request, didCancelTask: task) }
    }

    /// Notifies every monitor.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) {
        notify(.validation) {
            $0.request(request, didValidateRequest: urlRequest, response: response, data: data, withResult: result)
        }
    }

    /// Notifies every monitor.
    public func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, AFError>) {
        notify(.parsing) { $0.request(request, didParseResponse: response) }
    }

    /// Notifies every monitor.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) {
        notify(.validation) {
            $0.request(request, didValidateRequest: urlRequest, response: response, withResult: result)
        }
    }

    /// Notifies every monitor.
    public func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        notify(.uploads) { $0.request(request, didCreateUploadable: uploadable) }
    }

    /// Notifies every monitor.
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {
        notify(.uploads) { $0.request(request, didFailToCreateUploadableWithError: error) }
    }

    /// Notifies every monitor.
    public func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
        let shown = SendableInputStream(stream)
        notify(.uploads) { $0.request(request, didProvideInputStream: shown.value) }
    }

    /// Notifies every monitor.
    public func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    ) {
        notify(.downloads) { $0.request(request, didFinishDownloadingUsing: task, with: result) }
    }

    /// Notifies every monitor.
    public func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        notify(.downloads) { $0.request(request, didCreateDestinationURL: url) }
    }

    /// Notifies every monitor.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) {
        notify(.validation) {
            $0.request(
                request, didValidateRequest: urlRequest, response: response, fileURL: fileURL, withResult: result)
        }
    }

    /// Notifies every monitor.
    public func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>) {
        notify(.parsing) { $0.request(request, didParseResponse: response) }
    }

    /// Notifies every monitor.
    @preconcurrency
    public func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>
    ) {
        notify(.parsing) { $0.request(request, didParseResponse: response) }
    }

    /// Notifies every monitor.
    @preconcurrency
    public func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>) {
        notify(.parsing) { $0.request(request, didParseStream: result) }
    }

    /// Notifies every monitor.
    @preconcurrency
    public func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) {
        notify(.parsing) { $0.request(request, didParseResponse: response) }
    }
}
