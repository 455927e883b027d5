// Calls to a request's monitors; without monitors, no work.

import Foundation
import Synchronization

extension Request {
    /// Notifies the monitors of the session and of this request, and posts a notification of `kind` where the session
    /// posts any.
    ///
    /// Inlined, so that the closure is made only when there is someone to call it for.
    @inline(__always)
    func notifyMonitors(
        posting kind: RequestEvent? = nil,
        _ event: @escaping @Sendable (any EventMonitor, Request) -> Void
    ) {
        if let kind { core.notifications?.post(kind, self) }
        if hasMonitors { deliver(event) }
    }

    /// Notifies the monitors of an event that only one kind of request has.
    @inline(__always)
    func notifyMonitors<Kind: Request>(
        as kind: Kind.Type, _ event: @escaping @Sendable (any EventMonitor, Kind) -> Void
    ) {
        guard hasMonitors else { return }
        deliver { monitor, request in
            if let request = request as? Kind { event(monitor, request) }
        }
    }

    @inline(never)
    private func deliver(_ event: @escaping @Sendable (any EventMonitor, Request) -> Void) {
        core.monitor.notify { event($0, self) }
        for own in mutable.withLock({ $0.extras?.monitors }) ?? [] { own.queue.async { event(own, self) } }
    }

    /// Notifies the session's monitors of an event of a task; a request's own monitors get request events alone.
    func notifyTaskMonitors(_ event: @escaping @Sendable (any EventMonitor, URLSession) -> Void) {
        guard core.hasMonitors else { return }
        let session = core.urlSession
        core.monitor.notify { event($0, session) }
    }

    /// True when an event would reach someone other than observers of notifications.
    var hasMonitors: Bool {
        core.hasMonitors || hasOwnMonitor.load(ordering: .acquiring)
    }
}
