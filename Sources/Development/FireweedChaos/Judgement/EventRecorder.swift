// The events of every request, in their order.

import Fireweed
import Foundation
import FoundationNetworking
import Synchronization

/// A monitor that records the events of each request.
final class EventRecorder: EventMonitor {
    let queue = DispatchQueue(label: "chaos.events")
    private let events = Mutex<[UUID: [LifeEvent]]>([:])

    /// Returns the events of a request, including all events that were reported before the call.
    func events(of request: UUID) -> [LifeEvent] {
        queue.sync {}
        return events.withLock { $0[request] ?? [] }
    }

    private func record(_ event: LifeEvent, _ request: Request) {
        events.withLock { $0[request.id, default: []].append(event) }
    }

    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) { record(.initial, request) }
    func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) { record(.unmade, request) }
    func request(_ request: Request, didAdaptInitialRequest initial: URLRequest, to adapted: URLRequest) {
        record(.adapted, request)
    }
    func request(_ request: Request, didFailToAdaptURLRequest initial: URLRequest, withError error: AFError) {
        record(.unmade, request)
    }
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { record(.made, request) }
    func request(_ request: Request, didCreateTask task: URLSessionTask) { record(.task, request) }
    func request(_ request: Request, didGatherMetrics metrics: TaskMetrics) { record(.metrics, request) }
    func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        record(.completed, request)
    }
    func requestIsRetrying(_ request: Request) { record(.retry, request) }
    func requestDidFinish(_ request: Request) { record(.finish, request) }
    func requestDidResume(_ request: Request) { record(.resume, request) }
    func request(_ request: Request, didResumeTask task: URLSessionTask) { record(.resumeTask, request) }
    func requestDidSuspend(_ request: Request) { record(.suspend, request) }
    func request(_ request: Request, didSuspendTask task: URLSessionTask) { record(.suspendTask, request) }
    func requestDidCancel(_ request: Request) { record(.cancel, request) }
    func request(_ request: Request, didCancelTask task: URLSessionTask) { record(.cancelTask, request) }
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {
        record(.parse, request)
    }
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, AFError>
    ) { record(.parse, request) }
}
