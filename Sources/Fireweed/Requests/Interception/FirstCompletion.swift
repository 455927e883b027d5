// One completion of what users' code is asked for.

import Synchronization

/// Makes a completion handler that passes on its first value, and ignores later ones, on any thread.
///
/// Adapters, retriers and the handlers of redirects, heads and cached responses promise to complete once. Some complete
/// twice: at the same time from two threads, or long after the request has continued. `completion` is released with the
/// first value.
func firstOnly<Value>(_ completion: @escaping @Sendable (Value) -> Void) -> @Sendable (Value) -> Void {
    let pending = PendingCompletion(completion)
    return { pending.complete($0) }
}

/// A completion handler until its first call.
private final class PendingCompletion<Value>: Sendable {
    private let handler: Mutex<(@Sendable (Value) -> Void)?>

    init(_ handler: @escaping @Sendable (Value) -> Void) {
        self.handler = Mutex(handler)
    }

    func complete(_ value: Value) {
        handler.withLock { $0.take() }?(value)
    }
}
