// A check that requests still make progress.

import Synchronization

/// When something last happened, for the watchdog.
final class Activity: Sendable {
    private let count = Atomic<Int>(0)

    func note() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    var eventCount: Int { count.load(ordering: .relaxed) }
}
