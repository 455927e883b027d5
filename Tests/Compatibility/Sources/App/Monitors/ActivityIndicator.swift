import Alamofire
import Foundation

/// Counts requests by the library's notifications.
@MainActor
final class ActivityIndicator {
    private(set) var count = 0
    private var observers: [any NSObjectProtocol] = []

    func start() {
        let center = NotificationCenter.default
        observers = [
            center.addObserver(forName: Request.didResumeTaskNotification, object: nil, queue: .main) {
                [weak self] note in
                guard note.request?.isResumed == true else { return }
                MainActor.assumeIsolated { self?.count += 1 }
            },
            center.addObserver(forName: Request.didCompleteTaskNotification, object: nil, queue: .main) {
                [weak self] _ in
                MainActor.assumeIsolated { self?.count -= 1 }
            },
            center.addObserver(forName: Request.didSuspendTaskNotification, object: nil, queue: .main) {
                [weak self] _ in
                MainActor.assumeIsolated { self?.count -= 1 }
            },
        ]
    }

    func stop() {
        observers.forEach(NotificationCenter.default.removeObserver)
    }

    static let names: [Notification.Name] = [
        Request.didResumeNotification, Request.didSuspendNotification, Request.didCancelNotification,
        Request.didFinishNotification, Request.didCancelTaskNotification,
    ]
}
