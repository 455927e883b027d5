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
    private let pending = Mutex<[Event]>([])

    /// Makes a monitor.
    public init() {}

    /// Something that happened to a request.
    private struct Event {
        let kind: RequestEvent
        let request: Request
    }

    /// Events of this span are posted together: waking a thread for each costs more than all the rest.
    private static let gatheringTime = DispatchTimeInterval.milliseconds(5)

    /// Posts soon, together with the events that come meanwhile.
    func post(_ kind: RequestEvent, _ request: Request) {
        let isFirst = pending.withLock { pending in
            pending.append(Event(kind: kind, request: request))
            return pending.count == 1
        }
        if isFirst { queue.asyncAfter(deadline: .now() + Self.gatheringTime) { self.postPending() } }
    }

    private func postPending() {
        let events = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        let (center, key) = (NotificationCenter.default, AnyHashable(Self.requestKey))
        var shown: Request?
        var userInfo: [AnyHashable: Any] = [:]
        for event in events {
            // Events come in pairs, of the request and of its task.
            if shown !== event.request {
                shown = event.request
                userInfo = [key: event.request]
            }
            center.post(name: event.kind.notification, object: nil, userInfo: userInfo)
        }
    }

    static let requestKey = "org.alamofire.notification.key.request"
}

/// What happens to a request that observers of notifications hear of.
enum RequestEvent {
    case didResume, didSuspend, didCancel, didFinish
    case didResumeTask, didSuspendTask, didCancelTask, didCompleteTask

    fileprivate var notification: Notification.Name {
        switch self {
        case .didResume: Request.didResumeNotification
        case .didSuspend: Request.didSuspendNotification
        case .didCancel: Request.didCancelNotification
        case .didFinish: Request.didFinishNotification
        case .didResumeTask: Request.didResumeTaskNotification
        case .didSuspendTask: Request.didSuspendTaskNotification
        case .didCancelTask: Request.didCancelTaskNotification
        case .didCompleteTask: Request.didCompleteTaskNotification
        }
    }
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
