// Detection of a round that stalls.

import Foundation
import Synchronization

/// Ends the process and prints the operations that did not end, when a round stalls.
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

    /// Watches a round, whose open operations `report` lists; `nil` watches nothing.
    func watch(_ report: (@Sendable () -> String)?) {
        activity.note()
        self.report.withLock { $0 = report }
    }

    /// Waits for an event; ends the process after `limit` without an event.
    private func wait() {
        let start = ContinuousClock.now
        let count = activity.eventCount
        while ContinuousClock.now - start < limit {
            // Polls, since this thread does nothing else, and no event reports that nothing happens.
            Thread.sleep(forTimeInterval: 0.5)
            if activity.eventCount != count { return }
        }
        guard let report = report.withLock({ $0 }) else { return }
        StandardOutput.write("\(report())\nNothing has happened for \(limit).")
        exit(2)
    }
}
