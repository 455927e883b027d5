// A monitor that writes down what it hears.

import Fireweed
import Foundation
import FoundationNetworking

/// Writes down the names of events in their order.
final class RecordingMonitor: EventMonitor {
    let queue = DispatchQueue(label: "recording")
    let events: MonitoredEvents
    let names = ProtectedList<String>()

    init(events: MonitoredEvents = .all) {
        self.events = events
    }

    /// Everything that was told before this call; of content that comes or goes in several pieces one is enough.
    var all: [String] {
        queue.sync {}
        return names.all.reduce(into: []) { names, name in
            if names.last != name || !["data", "sent", "written"].contains(name) { names.append(name) }
        }
    }

    // MARK: Tasks

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { names.append("invalid") }
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) { names.append("redirect") }
    func urlSession(_ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge) {
        names.append("challenge")
    }
    func urlSession(_ session: URLSession, taskNeedsNewBodyStream task: URLSessionTask) {
        names.append("stream needed")
    }
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData byteCount: Int64, totalBytesSent total: Int64,
        totalBytesExpectedToSend expected: Int64
    ) { names.append("sent") }
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics) {
        names.append("task metrics")
    }
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        names.append(error == nil ? "task end" : "task failure")
    }
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {
        names.append("response")
    }
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { names.append("data") }
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        names.append("downloaded")
    }
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData byteCount: Int64,
        totalBytesWritten total: Int64, totalBytesExpectedToWrite expected: Int64
    ) { names.append("written") }

    // MARK: Requests

    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) { names.append("initial") }
    func request(_ request: Request, didAdaptInitialRequest initial: URLRequest, to adapted: URLRequest) {
        names.append("adapted")
    }
    func request(_ request: Request, didFailToAdaptURLRequest initial: URLRequest, withError error: AFError) {
        names.append("not adapted")
    }
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { names.append("created") }
    func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) { names.append("not created") }
    func request(_ request: Request, didCreateTask task: URLSessionTask) { names.append("task") }
    func requestDidResume(_ request: Request) { names.append("resume") }
    func request(_ request: Request, didResumeTask task: URLSessionTask) { names.append("resume task") }
    func requestDidSuspend(_ request: Request) { names.append("suspend") }
    func request(_ request: Request, didSuspendTask task: URLSessionTask) { names.append("suspend task") }
    func request(_ request: Request, didGatherMetrics metrics: TaskMetrics) { names.append("metrics") }
    func request(_ request: Request, didFailTask task: URLSessionTask, earlyWithError error: AFError) {
        names.append("early failure")
    }
    func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        names.append("complete")
    }
    func requestIsRetrying(_ request: Request) { names.append("retry") }
    func requestDidCancel(_ request: Request) { names.append("cancel") }
    func request(_ request: Request, didCancelTask task: URLSessionTask) { names.append("cancel task") }
    func requestDidFinish(_ request: Request) { names.append("finish") }

    // MARK: Kinds of requests

    func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: Request.ValidationResult
    ) { names.append("validate") }
    func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: Request.ValidationResult
    ) { names.append("validate") }
    func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) { names.append("validate") }
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {
        names.append("parse")
    }
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) { names.append("parse") }
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, AFError>) {
        names.append("parse stream")
    }
    func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
        names.append("uploadable")
    }
    func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {
        names.append("no uploadable")
    }
    func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) { names.append("stream") }
    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: URLSessionTask, with result: Result<URL, AFError>
    ) { names.append("file") }
    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) { names.append("destination") }
}
