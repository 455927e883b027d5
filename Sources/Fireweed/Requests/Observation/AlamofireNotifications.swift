// Events as notifications.

public import Dispatch
public import Foundation
import Synchronization

/// Posts a notification to `NotificationCenter.default` for each main event of a request.
///
/// Notifications are posted on the monitor's own queue, so that they do not accumulate in a program whose main queue is
/// never drained.
///
/// Posting takes a tenth of the time of a small request. So nothing is posted until the process has read one of the
/// names, such as `Request.didResumeNotification`, which an observer normally does. An observer that writes a name as a
/// string, or that observes every name, needs a session with `AlamofireNotifications(postsAlways: true)`.
public final class AlamofireNotifications: EventMonitor {
    /// The queue that notifications are posted from.
    public let queue = DispatchQueue(label: "org.alamofire.notifications")
    private let pending = Mutex<[Event]>([])
    private let postsAlways: Bool

    /// Makes a monitor that begins to post when the process has read a notification's name.
    public convenience init() {
        self.init(postsAlways: false)
    }

    /// Makes a monitor; with `postsAlways`, the monitor posts even if no name was read.
    public init(postsAlways: Bool) {
        self.postsAlways = postsAlways
    }

    /// An event of a request.
    private struct Event {
        let kind: RequestEvent
        let request: Request
    }

    /// Events are gathered for this time and then posted together: waking a thread for each event costs more than all
    /// other work here.
    private static let gatheringTime = DispatchTimeInterval.milliseconds(5)

    /// Posts an event after the gathering time, together with the other events of that time.
    func post(_ kind: RequestEvent, _ request: Request) {
        guard postsAlways || RequestEvent.areNamed else { return }
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
            // Two successive events often have the same request (its own event and its task's), so `userInfo` is
            // reused.
            if shown !== event.request {
                shown = event.request
                userInfo = [key: event.request]
            }
            center.post(name: event.kind.notification, object: nil, userInfo: userInfo)
        }
    }

    static let requestKey = "org.alamofire.notification.key.request"
}

/// The events that have notifications.
enum RequestEvent: String {
    case didResume, didSuspend, didCancel, didFinish
    case didResumeTask, didSuspendTask, didCancelTask, didCompleteTask

    fileprivate var notification: Notification.Name {
        Notification.Name("org.alamofire.notification.name.request.\(rawValue)")
    }

    /// The name of the notification, for observers; reading it lets monitors post.
    fileprivate var shownNotification: Notification.Name {
        Self.hasShownName.store(true, ordering: .relaxed)
        return notification
    }

    /// Whether the process has read a name, so that a notification may have an observer.
    fileprivate static var areNamed: Bool { hasShownName.load(ordering: .relaxed) }

    private static let hasShownName = Atomic(false)
}

extension Request {
    /// Posted when a request was resumed.
    public static var didResumeNotification: Notification.Name { RequestEvent.didResume.shownNotification }
    /// Posted when a request was suspended.
    public static var didSuspendNotification: Notification.Name { RequestEvent.didSuspend.shownNotification }
    /// Posted when a request was cancelled.
    public static var didCancelNotification: Notification.Name { RequestEvent.didCancel.shownNotification }
    /// Posted when a request has finished.
    public static var didFinishNotification: Notification.Name { RequestEvent.didFinish.shownNotification }
    /// Posted when a task was resumed.
    public static var didResumeTaskNotification: Notification.Name { RequestEvent.didResumeTask.shownNotification }
    /// Posted when a task was suspended.
    public static var didSuspendTaskNotification: Notification.Name { RequestEvent.didSuspendTask.shownNotification }
    /// Posted when a task was cancelled.
    public static var didCancelTaskNotification: Notification.Name { RequestEvent.didCancelTask.shownNotification }
    /// Posted when a task ended.
    public static var didCompleteTaskNotification: Notification.Name { RequestEvent.didCompleteTask.shownNotification }
}

extension Notification {
    /// The request that a notification of this library is about.
    public var request: Request? { userInfo?[AlamofireNotifications.requestKey] as? Request }
}
