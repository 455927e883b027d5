// Events for a subclass of `SessionDelegate`.

import Dispatch
import Foundation
import FoundationNetworking

/// Passes the events that need no decision to the delegate.
final class DelegateEvents: EventMonitor {
    let queue: DispatchQueue
    /// The events of the methods below.
    let events: MonitoredEvents = [.invalidation, .uploads, .metrics, .taskEnds, .waiting, .content, .downloads]
    private let delegate: SessionDelegate

    /// Makes a monitor for a delegate; `nil` for a delegate that is not a subclass, since its methods do nothing.
    init?(_ delegate: SessionDelegate, queue: DispatchQueue) {
        guard delegate.isSubclass else { return nil }
        self.delegate = delegate
        self.queue = queue
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        delegate.urlSession(session, didBecomeInvalidWithError: error)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData byteCount: Int64, totalBytesSent total: Int64,
        totalBytesExpectedToSend expected: Int64
    ) {
        delegate.urlSession(
            session, task: task, didSendBodyData: byteCount, totalBytesSent: total, totalBytesExpectedToSend: expected)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics) {
        delegate.urlSession(session, task: task, didFinishCollecting: metrics)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        delegate.urlSession(session, task: task, didCompleteWithError: error)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        delegate.urlSession(session, taskIsWaitingForConnectivity: task)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        delegate.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        delegate.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData byteCount: Int64,
        totalBytesWritten total: Int64, totalBytesExpectedToWrite expected: Int64
    ) {
        delegate.urlSession(
            session, downloadTask: downloadTask, didWriteData: byteCount, totalBytesWritten: total,
            totalBytesExpectedToWrite: expected)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset offset: Int64,
        expectedTotalBytes expected: Int64
    ) {
        delegate.urlSession(
            session, downloadTask: downloadTask, didResumeAtOffset: offset, expectedTotalBytes: expected)
    }
}

extension Request {
    /// Notifies the session's delegate of an event of the WebSocket, if the delegate is a subclass.
    func notifyDelegate(_ event: @escaping @Sendable (SessionDelegate, URLSession, URLSessionWebSocketTask) -> Void) {
        guard core.arguments.delegate.isSubclass, let task = task as? URLSessionWebSocketTask else { return }
        core.arguments.rootQueue.async { [core] in event(core.arguments.delegate, core.urlSession, task) }
    }
}

extension SessionDelegate {
    /// Whether the delegate can decide or observe anything: ``SessionDelegate`` itself does neither.
    var isSubclass: Bool { type(of: self) != SessionDelegate.self }
}
