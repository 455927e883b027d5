// A replacement for the standard library's lock, which ThreadSanitizer understands.
//
// `Synchronization.Mutex` is compiled without the sanitizer, so the sanitizer reports every access under that lock as a
// race. A sanitizer build (`make sanitize`) defines SANITIZE_THREAD; this type then shadows the standard type. Each
// target has a link to this file. Delete the file when the toolchain's lock informs the sanitizer.

#if SANITIZE_THREAD

import Glibc

/// A lock with the interface of `Synchronization.Mutex`, built on a pthread mutex.
struct Mutex<Value>: ~Copyable, @unchecked Sendable {
    // SAFETY: the value is accessed only under the lock.
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
