// Events that monitors are being notified of.

/// Counts the threads that are notifying monitors of events of a request.
///
/// Another thread may end the request meanwhile. The end waits for the announcements, so that `requestDidFinish` is the
/// monitors' last event.
struct Announcements: Sendable {
    private var count = 0
    private var conclusionWaits = false

    mutating func begin() { count += 1 }

    /// Ends an announcement; true when the request has ended meanwhile, and its conclusion has to start now.
    mutating func end() -> Bool {
        count -= 1
        guard count == 0, conclusionWaits else { return false }
        conclusionWaits = false
        return true
    }

    /// Asks for the conclusion; true when it may start at once, otherwise `end()` returns true later.
    mutating func allowConclusion() -> Bool {
        conclusionWaits = count > 0
        return !conclusionWaits
    }
}
