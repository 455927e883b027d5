// An answer that another thread gives.

import Dispatch
import Synchronization

/// An answer that a thread of ours waits for, and that comes on another thread.
///
/// Only threads may wait that are made for it: those of trust decisions, and the queue that reads a request's content.
final class AwaitedAnswer<Value: Sendable>: Sendable {
    /// As long as a thread is kept, in seconds; a request times out before it by default.
    private static var answerTimeout: DispatchTimeInterval { .seconds(60) }
    private let given = Mutex<Value?>(nil)
    private let group = DispatchGroup()

    init() {
        group.enter()
    }

    /// Gives the answer; the first call counts.
    func give(_ value: Value) {
        let isFirst = given.withLock { given in
            guard given == nil else { return false }
            given = value
            return true
        }
        if isFirst { group.leave() }
    }

    /// Waits for the answer; `nil` when none came in time.
    func wait() -> Value? {
        _ = group.wait(timeout: .now() + Self.answerTimeout)
        return given.withLock { $0 }
    }
}
