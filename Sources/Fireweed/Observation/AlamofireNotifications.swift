// Events as notifications.

public import Dispatch
public import Foundation
import Synchronization

/// Posts a notification for the main events of each request, to `NotificationCenter.default`.
///
/// Notifications are posted from a queue of their own: a program whose main queue is never drained must not gather them.
public final class AlamofireNotifications: EventMonitor {
    /// The queue that notifications are posted from.
    public let queue = DispatchQueue(label: "org.alamofire.notifications")
    private let pending = Mutex<[(name: Notification.Name, request: Request)]>([])

    /// Makes a monitor.
    public init() {}

    /// Events of this span are posted together: waking a thread for each costs more than all the rest.
    private static let gatheringTime = DispatchTimeInterval.milliseconds(5)

    /// Posts soon, together with the events that come meanwhile.
    func post(_ name: Notification.Name, _ request: Request) {
        let isFirst = pending.withLock { pending in
            pending.append((name, request))
            return pending.count == 1
        }
        if isFirst { queue.asyncAfter(deadline: .now() + Self.gatheringTime) { self.postPending() } }
    }

    private func postPending() {
        let batch = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        var last: (request: Request, userInfo: [AnyHashable: Any])?
        for (name, request) in batch {
            // Events come in pairs, of the request and of its task.
            let userInfo = last?.request === request ? last?.userInfo : [Self.requestKey: request]
            last = userInfo.map { (request, $0) }
            NotificationCenter.default.post(name: name, object: nil, userInfo: userInfo)
        }
    }

    static let requestKey = "org.alamofire.notification.key.request"
}

extension Request {
    /// Posted when a request was resumed.
    public static let didResumeNotification =
        Notification.Name("org.alamofire.notification.name.request.didResume")
    /// Posted when a request was suspended.
    public static let didSuspendNotification =
        Notification.Name("org.alamofire.notification.name.request.didSuspend")
    /// Posted when a request was cancelled.
    public static let didCancelNotification =
        Notification.Name("org.alamofire.notification.name.request.didCancel")
    /// Posted when the outcome of a request stands.
    public static let didFinishNotification =
        Notification.Name("org.alamofire.notification.name.request.didFinish")
    /// Posted when a task was resumed.
    public static let didResumeTaskNotification =
        Notification.Name("org.alamofire.notification.name.request.didResumeTask")
    /// Posted when a task was suspended.
    public static let didSuspendTaskNotification =
        Notification.Name("org.alamofire.notification.name.request.didSuspendTask")
    /// Posted when a task was cancelled.
    public static let didCancelTaskNotification =
        Notification.Name("org.alamofire.notification.name.request.didCancelTask")
    /// Posted when a task ended.
    public static let didCompleteTaskNotification =
        Notification.Name("org.alamofire.notification.name.request.didCompleteTask")
}

extension Notification {
    /// The request that a notification of this library is about.
    public var request: Request? { userInfo?[AlamofireNotifications.requestKey] as? Request }
}
