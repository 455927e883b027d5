// The queue of a feed's events, for the thread that sends the answer.

import Foundation

/// Lets a thread wait for a feed's events and for pauses, until its client is gone.
final class FeedQueue: @unchecked Sendable {
    // SAFETY: the condition's lock guards the events. A condition variable may block the waiting thread, since it is
    // not a thread of Swift's concurrency.
    private let condition = NSCondition()
    private var events: [ResponseFeed.Event] = []
    private var isClosed = false

    func add(_ event: ResponseFeed.Event) {
        condition.lock()
        events.append(event)
        condition.signal()
        condition.unlock()
    }

    /// Ends all waits, since the client is gone.
    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }

    /// Waits for the next event, and returns it; `nil` when the client is gone.
    ///
    /// `isGone` is polled five times a second, for connections that do not call `close()` when their client is gone.
    func next(isGone: () -> Bool = { false }) -> ResponseFeed.Event? {
        condition.lock()
        defer { condition.unlock() }
        while !isClosed {
            if !events.isEmpty { return events.removeFirst() }
            if !condition.wait(until: Date(timeIntervalSinceNow: 0.2)), isGone() { return nil }
        }
        return nil
    }

    /// Waits for a pause in an answer; false when the client is gone.
    func wait(_ duration: Duration) -> Bool {
        let end = Date(timeIntervalSinceNow: duration.seconds)
        condition.lock()
        defer { condition.unlock() }
        while !isClosed {
            if !condition.wait(until: end) { return !isClosed }
        }
        return false
    }
}
