// The number of events so far.

import Synchronization

/// Counts events, so that the watchdog sees progress.
final class Activity: Sendable {
    private let count = Atomic<Int>(0)

    func note() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    var eventCount: Int { count.load(ordering: .relaxed) }
}
