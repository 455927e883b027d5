// Detection of a round that stalls.

import Foundation
import Synchronization

/// When a round stalls, prints the operations that have not ended, and exits with code 2.
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

    /// Starts to watch a round, whose open operations `report` lists; with `nil`, watches nothing.
    func watch(_ report: (@Sendable () -> String)?) {
        activity.note()
        self.report.withLock { $0 = report }
    }

    /// Waits for an event; after `limit` without one, ends the process if a round is being watched.
    private func wait() {
        let start = ContinuousClock.now
        let count = activity.eventCount
        while ContinuousClock.now - start < limit {
            // This thread polls: it has no other work, and no event can report that nothing happens.
            Thread.sleep(forTimeInterval: 0.5)
            if activity.eventCount != count { return }
        }
        guard let report = report.withLock({ $0 }) else { return }
        StandardOutput.write("\(report())\nNothing has happened for \(limit).")
        exit(2)
    }
}
