// The planned actions on a request.

import Fireweed
import Foundation
import Synchronization

/// Performs the planned actions of one operation, on threads of timers and inside callbacks.
final class Meddler: Sendable {
    private let record: OperationRecord
    private let slot: SessionSlot
    private let task: TaskSwitch
    /// The actions that wait for a callback.
    private let waiting: Mutex<[Meddling]>
    private let addHandler: @Sendable (Request) -> Void

    init(
        _ record: OperationRecord, slot: SessionSlot, task: TaskSwitch,
        addHandler: @escaping @Sendable (Request) -> Void
    ) {
        self.record = record
        self.slot = slot
        self.task = task
        self.addHandler = addHandler
        waiting = Mutex(record.operation.meddlings.filter { if case .inCallback = $0.moment { true } else { false } })
    }

    /// Whether an action waits for this callback.
    func awaits(_ callback: Meddling.Callback) -> Bool {
        waiting.withLock { $0.contains { $0.moment == .inCallback(callback) } }
    }

    /// Starts a timer for each action that is planned after a delay.
    func arm(_ request: Request) {
        for meddling in record.operation.meddlings {
            guard case .after(let delay) = meddling.moment else { continue }
            let ticket = record.expect("timer of \(meddling.action)")
            Later.run(after: delay) { [weak request] in
                if let request { self.perform(meddling.action, request) }
                ticket.call()
            }
        }
    }

    /// Performs the actions that wait for this callback.
    func reached(_ callback: Meddling.Callback, _ request: Request?) {
        let due = waiting.withLock { waiting in
            defer { waiting.removeAll { $0.moment == .inCallback(callback) } }
            return waiting.filter { $0.moment == .inCallback(callback) }
        }
        guard let request else { return }
        for meddling in due { perform(meddling.action, request) }
    }

    private func perform(_ action: Meddling.Action, _ request: Request) {
        record.note("\(action)")
        switch action {
        case .pause(let duration): pause(request, duration)
        case .bounce(let count):
            for _ in 0..<count { request.suspend().resume() }
        case .resume: request.resume()
        case .cancel: request.cancel()
        case .cancelResumably:
            if let download = request as? DownloadRequest {
                download.cancel(producingResumeData: true)
            } else {
                request.cancel()
            }
        case .cancelTask: task.cancel()
        case .addHandler: addHandler(request)
        case .cancelAllRequests: slot.use { $0.cancelAllRequests(completingOnQueue: .global()) }
        case .dropSession: slot.drop()
        case .invalidateSession: slot.invalidate()
        }
    }

    private func pause(_ request: Request, _ duration: Int) {
        request.suspend()
        let ticket = record.expect("timer that resumes")
        // The resumption is scheduled after `suspend()` has returned, so that it comes last even if this thread is
        // slow.
        Later.run(after: duration) { [weak request, record] in
            record.note("resume after pause")
            request?.resume()
            ticket.call()
        }
    }
}
