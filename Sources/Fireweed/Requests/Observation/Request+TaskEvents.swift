// Events of a request's tasks, made for monitors; nothing is made when there are none.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Request {
    func attempt(_ attempt: Attempt, didReceiveChallenge head: ResponseHead) {
        guard core.hasMonitors else { return }
        let (message, response) = (attempt.message, head.httpURLResponse(for: attempt.record.url))
        // What cannot be read is still a challenge.
        let challenge = HTTPChallenge.all(in: head).first ?? HTTPChallenge(scheme: "")
        let shown = SendableChallenge(
            challenge.shown(
                host: message.url.host ?? "", port: message.url.effectivePort, scheme: message.url.scheme ?? "http",
                response: response, failureCount: message.refusedCredentials.count))
        self.attempt(attempt, didReceive: shown)
    }

    func attempt(_ attempt: Attempt, didReceive shown: SendableChallenge) {
        guard hasMonitors else { return }
        notifyTaskMonitors { $0.urlSession($1, task: attempt.sessionTask, didReceive: shown.value) }
    }

    func attempt(_ attempt: Attempt, willRedirectTo next: OutgoingMessage) {
        guard core.hasMonitors, let response = attempt.httpURLResponse else { return }
        let request = Redirection.urlRequest(of: next)
        notifyTaskMonitors {
            $0.urlSession(
                $1, task: attempt.sessionTask, willPerformHTTPRedirection: response, newRequest: request)
        }
    }

    func notifyOfHead(_ attempt: Attempt) {
        guard core.hasMonitors, let task = attempt.sessionTask as? URLSessionDataTask,
            let response = attempt.httpURLResponse
        else { return }
        notifyTaskMonitors { $0.urlSession($1, dataTask: task, didReceive: response) }
    }

    func notifyOfContent(_ bytes: UnsafeRawBufferPointer, _ attempt: Attempt) {
        guard core.hasMonitors else { return }
        switch attempt.sessionTask {
        case let task as URLSessionDataTask:
            let received = Data(bytes)
            notifyTaskMonitors { $0.urlSession($1, dataTask: task, didReceive: received) }
        case let task as URLSessionDownloadTask:
            let (count, counts) = (Int64(bytes.count), attempt.downloadCounts)
            notifyTaskMonitors {
                $0.urlSession(
                    $1, downloadTask: task, didWriteData: count, totalBytesWritten: counts.completed,
                    totalBytesExpectedToWrite: counts.total ?? -1)
            }
        default: break
        }
    }

    func notifyOfSending(_ byteCount: Int, total: Int64, expected: Int64?, _ attempt: Attempt) {
        guard core.hasMonitors else { return }
        notifyTaskMonitors {
            $0.urlSession(
                $1, task: attempt.sessionTask, didSendBodyData: Int64(byteCount), totalBytesSent: total,
                totalBytesExpectedToSend: expected ?? -1)
        }
    }

    /// The end of a task and its metrics, before validation.
    func notifyOfEnd(_ attempt: Attempt) {
        guard hasMonitors else { return }
        let (task, error) = (attempt.sessionTask, attempt.error)
        if let metrics = attempt.metrics {
            notifyTaskMonitors { $0.urlSession($1, task: task, didFinishCollecting: metrics) }
            notifyMonitors { $0.request($1, didGatherMetrics: metrics) }
        }
        notifyTaskMonitors { $0.urlSession($1, task: task, didCompleteWithError: error) }
    }

    /// A stream is needed for content.
    func notifyOfStreamNeed(_ attempt: Attempt) {
        guard core.hasMonitors, beginAnnouncement(during: .transferring) else { return }
        notifyTaskMonitors { $0.urlSession($1, taskNeedsNewBodyStream: attempt.sessionTask) }
        endAnnouncement()
    }
}
