// A check that calls which may wait are not made on an event loop.

import Glibc

/// Checks, before a call that may wait, that the caller is not on an event loop's thread.
///
/// Such calls are those for files, name look-ups and databases, and calls of user code. A call that waits on an event
/// loop's thread stops every session of the process. In a debug build such a call ends the process with the name of the
/// call; a release build checks nothing.
/// ```swift
/// BlockingCall.check("open")
/// let descriptor = open(path, O_RDONLY | O_CLOEXEC)
/// ```
package enum BlockingCall {
    /// Ends a debug build when the caller is on an event loop's thread.
    @inline(__always)
    package static func check(_ name: StaticString) {
        assert(!LoopThread.isCurrent, "\(name) may wait, and was called on an event loop's thread")
    }
}

/// Whether the caller is on the thread of an event loop.
package enum LoopThread {
    /// The key of the thread-specific value that marks a loop's thread; the value is `nil` on other threads.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, nil) == 0, "no key is left for data of threads")
        return key
    }()

    /// True on a loop's thread; in a debug build, false while a user's Swift task runs there.
    package static var isCurrent: Bool { pthread_getspecific(key) != nil }

    /// Marks the current thread as a loop's.
    static func mark() {
        pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }

    /// Runs a part of a user's Swift task, without the mark: the task may wait at the user's own risk.
    static func runJob(_ body: () -> Void) {
        pthread_setspecific(key, nil)
        body()
        mark()
    }
}
