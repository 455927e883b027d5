// The queue of the parts of an answer, for the thread that sends them.

import Foundation

/// Lets a thread wait for a feed's events and for pauses, until its client is gone.
final class FeedQueue: @unchecked Sendable {
    // SAFETY: the condition's lock guards the events.
    // A condition, since the reader is a thread of its own, which may block, and not a task.
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

    /// The next event; `nil` when the client is gone.
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
