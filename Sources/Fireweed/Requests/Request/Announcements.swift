// Notifications of monitors that are in progress.

/// Counts the threads that are notifying monitors of events of a request.
///
/// Another thread may end the request during a notification. The conclusion then waits for the announcements, so that
/// `requestDidFinish` is the monitors' last event.
struct Announcements: Sendable {
    private var count = 0
    private var conclusionWaits = false

    mutating func begin() { count += 1 }

    /// Ends an announcement; returns true when the request has ended by now, and its conclusion has to start.
    mutating func end() -> Bool {
        count -= 1
        guard count == 0, conclusionWaits else { return false }
        conclusionWaits = false
        return true
    }

    /// Asks for the conclusion; returns true when it may start now, otherwise `end()` returns true later.
    mutating func allowConclusion() -> Bool {
        conclusionWaits = count > 0
        return !conclusionWaits
    }
}
