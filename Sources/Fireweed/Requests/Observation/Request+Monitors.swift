// Calls to a request's monitors, which cost almost nothing without monitors.

import Foundation
import Synchronization

extension Request {
    /// Notifies the monitors of the session and of this request, and posts `notification` if the session posts
    /// notifications.
    ///
    /// Inlined, so that the closure is made only when a monitor wants the event.
    @inline(__always)
    func notifyMonitors(
        _ kind: MonitoredEvents, posting notification: RequestEvent? = nil,
        _ event: @escaping @Sendable (any EventMonitor, Request) -> Void
    ) {
        if let notification { core.notifications?.post(notification, self) }
        if announces(kind) { deliver(kind, event) }
    }

    /// Notifies the monitors of an event that only one kind of request has.
    @inline(__always)
    func notifyMonitors<RequestKind: Request>(
        _ kind: MonitoredEvents, as type: RequestKind.Type,
        _ event: @escaping @Sendable (any EventMonitor, RequestKind) -> Void
    ) {
        guard announces(kind) else { return }
        deliver(kind) { monitor, request in
            if let request = request as? RequestKind { event(monitor, request) }
        }
    }

    @inline(never)
    private func deliver(
        _ kind: MonitoredEvents, _ event: @escaping @Sendable (any EventMonitor, Request) -> Void
    ) {
        core.monitor.notify(kind) { event($0, self) }
        for own in ownMonitors where own.events.contains(kind) { own.post { event($0, self) } }
    }

    private var ownMonitors: [MonitorMailbox] { mutable.withLock { $0.extras?.monitors } ?? [] }

    /// Notifies the session's monitors of an event of a task; a request's own monitors get request events only.
    func notifyTaskMonitors(
        _ kind: MonitoredEvents, _ event: @escaping @Sendable (any EventMonitor, URLSession) -> Void
    ) {
        guard core.announces(kind) else { return }
        let session = core.urlSession
        core.monitor.notify(kind) { event($0, session) }
    }

    /// Whether a monitor of the session or of this request wants the events; observers of notifications are ignored.
    @inline(__always)
    func announces(_ kind: MonitoredEvents) -> Bool {
        core.announces(kind)
            || hasOwnMonitor.load(ordering: .acquiring) && ownMonitors.contains { $0.events.contains(kind) }
    }
}
