// Detection of a process that was forked from one with event loops.

import Foundation
import Glibc
import Synchronization

/// Counts the calls of fork(2) between the first process that had an event loop and this process.
///
/// A child has none of its parent's threads (fork(2)): work that is posted to the parent's loops would never run there.
package enum ForkCount {
    private static let count = Atomic<Int>(0)
    private static let isWatching: Bool = {
        // The child's only thread calls this before fork(2) returns, when only async-signal-safe work is allowed.
        pthread_atfork(nil, nil) { ForkCount.count.wrappingAdd(1, ordering: .relaxed) }
        return true
    }()

    /// The number of forks between the process that first called `watch` and this one; 0 in the first process, however
    /// many children it has.
    package static var current: Int { count.load(ordering: .relaxed) }

    /// Begins to count.
    package static func watch() {
        _ = current  // initialises `count` before a child of fork(2) uses it
        _ = isWatching
    }
}
