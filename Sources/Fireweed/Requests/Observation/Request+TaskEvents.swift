// Events of a request's tasks; their values are made only when a monitor wants the events.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Request {
    func attempt(_ attempt: Attempt, didReceiveChallenge head: ResponseHead) {
        guard core.announces(.challenges) else { return }
        let (message, response) = (attempt.message, head.httpURLResponse(for: attempt.record.url))
        // A challenge that cannot be parsed is reported too, with an empty scheme.
        let challenge = HTTPChallenge.all(in: head).first ?? HTTPChallenge(scheme: "")
        let shown = SendableChallenge(
            challenge.shown(
                host: message.url.host ?? "", port: message.url.effectivePort, scheme: message.url.scheme ?? "http",
                response: response, failureCount: message.refusedCredentials.count))
        self.attempt(attempt, didReceive: shown)
    }

    func attempt(_ attempt: Attempt, didReceive shown: SendableChallenge) {
        notifyTaskMonitors(.challenges) { $0.urlSession($1, task: attempt.sessionTask, didReceive: shown.value) }
    }

    func attempt(_ attempt: Attempt, willRedirectTo next: OutgoingMessage) {
        guard core.announces(.redirects), let response = attempt.httpURLResponse else { return }
        let request = Redirection.urlRequest(of: next)
        notifyTaskMonitors(.redirects) {
            $0.urlSession(
                $1, task: attempt.sessionTask, willPerformHTTPRedirection: response, newRequest: request)
        }
    }

    func notifyOfHead(_ attempt: Attempt) {
        guard core.announces(.responses), let task = attempt.sessionTask as? URLSessionDataTask,
            let response = attempt.httpURLResponse
        else { return }
        notifyTaskMonitors(.responses) { $0.urlSession($1, dataTask: task, didReceive: response) }
    }

    func notifyOfContent(_ bytes: UnsafeRawBufferPointer, _ attempt: Attempt) {
        guard core.announces(.content) else { return }
        switch attempt.sessionTask {
        case let task as URLSessionDataTask:
            let received = Data(bytes)
            notifyTaskMonitors(.content) { $0.urlSession($1, dataTask: task, didReceive: received) }
        case let task as URLSessionDownloadTask:
            let (count, counts) = (Int64(bytes.count), attempt.downloadCounts)
            notifyTaskMonitors(.content) {
                $0.urlSession(
                    $1, downloadTask: task, didWriteData: count, totalBytesWritten: counts.completed,
                    totalBytesExpectedToWrite: counts.total ?? -1)
            }
        default: break
        }
    }

    func notifyOfSending(_ byteCount: Int, total: Int64, expected: Int64?, _ attempt: Attempt) {
        notifyTaskMonitors(.uploads) {
            $0.urlSession(
                $1, task: attempt.sessionTask, didSendBodyData: Int64(byteCount), totalBytesSent: total,
                totalBytesExpectedToSend: expected ?? -1)
        }
    }

    /// Notifies monitors of a task's metrics and of its end, before validation.
    func notifyOfEnd(_ attempt: Attempt) {
        if announces(.metrics), let metrics = attempt.metrics {
            let task = attempt.sessionTask
            notifyTaskMonitors(.metrics) { $0.urlSession($1, task: task, didFinishCollecting: metrics) }
            notifyMonitors(.metrics) { $0.request($1, didGatherMetrics: metrics) }
        }
        guard core.announces(.taskEnds) else { return }
        let (task, error) = (attempt.sessionTask, attempt.error)
        notifyTaskMonitors(.taskEnds) { $0.urlSession($1, task: task, didCompleteWithError: error) }
    }

    /// Notifies monitors that a task needs a stream for its content.
    func notifyOfStreamNeed(_ attempt: Attempt) {
        guard core.announces(.uploads), beginAnnouncement(during: .transferring) else { return }
        notifyTaskMonitors(.uploads) { $0.urlSession($1, taskNeedsNewBodyStream: attempt.sessionTask) }
        endAnnouncement()
    }
}
