// A lock that ThreadSanitizer understands, in place of the standard library's.
//
// `Synchronization.Mutex` is compiled without the sanitizer, which therefore takes every access under it for a race. A
// build for the sanitizer (`make sanitize`) defines SANITIZE_THREAD; this type then shadows the other one. Each target
// has a link to this file. To be deleted when the toolchain's own lock tells the sanitizer about itself.

#if SANITIZE_THREAD

import Glibc

/// `Synchronization.Mutex` on a pthread mutex.
struct Mutex<Value>: ~Copyable, @unchecked Sendable {
    // SAFETY: the value is touched under the lock alone.
    private let storage: Storage

    private final class Storage {
        let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        var value: Value

        init(_ value: Value) {
            self.value = value
            pthread_mutex_init(lock, nil)
        }

        deinit {
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }
    }

    init(_ value: consuming sending Value) {
        storage = Storage(value)
    }

    borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(storage.lock)
        defer { pthread_mutex_unlock(storage.lock) }
        return try body(&storage.value)
    }
}

#endif
