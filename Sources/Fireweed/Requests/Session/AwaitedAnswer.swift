// A value that one thread waits for and another thread gives.

import Dispatch
import Synchronization

/// A value that a thread of the library waits for and another thread gives.
///
/// Only threads that may block wait here: the threads of trust decisions, and the queue that reads a request's content.
final class AwaitedAnswer<Value: Sendable>: Sendable {
    /// The longest time for which a thread waits: 60 seconds, as long as the default time-out of a request.
    private static var answerTimeout: DispatchTimeInterval { .seconds(60) }
    private let given = Mutex<Value?>(nil)
    private let group = DispatchGroup()

    init() {
        group.enter()
    }

    /// Sets the answer; only the first call has an effect.
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
