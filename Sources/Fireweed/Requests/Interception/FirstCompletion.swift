// A completion handler for user code that may call it more than once.

import Synchronization

/// Makes a completion handler that passes on its first value, and ignores later ones, on any thread.
///
/// Adapters, retriers and the handlers of redirects, heads and cached responses promise to complete once. Some complete
/// twice: from two threads at the same time, or again long after the request has continued. `completion` is released
/// with the first value.
func firstOnly<Value>(_ completion: @escaping @Sendable (Value) -> Void) -> @Sendable (Value) -> Void {
    let pending = Mutex(Optional(completion))
    return { value in pending.withLock { $0.take() }?(value) }
}
