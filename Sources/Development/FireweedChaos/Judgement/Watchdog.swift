// Notices when nothing happens any more.

import Foundation
import Synchronization

/// Ends the process, with the operations that did not end, when a round stands still.
final class Watchdog: Sendable {
    private let activity: Activity
    private let limit: Duration
    private let report = Mutex<(@Sendable () -> String)?>(nil)

    init(_ activity: Activity, limit: Duration) {
        self.activity = activity
        self.limit = limit
        let thread = Thread { [weak self] in
            Thread.current.name = "chaos-watchdog"
            while let self { self.wait() }
        }
        thread.start()
    }

    /// Watches a round, of which `report` says what has not ended; `nil` watches nothing.
    func watch(_ report: (@Sendable () -> String)?) {
        activity.note()
        self.report.withLock { $0 = report }
    }

    /// Looks on for as long as may pass without an event.
    private func wait() {
        let start = ContinuousClock.now
        let count = activity.eventCount
        while ContinuousClock.now - start < limit {
            // Its own thread does nothing else, and no event tells that nothing happens.
            Thread.sleep(forTimeInterval: 0.5)
            if activity.eventCount != count { return }
        }
        guard let report = report.withLock({ $0 }) else { return }
        StandardOutput.write("\(report())\nNothing has happened for \(limit).")
        exit(2)
    }
}
