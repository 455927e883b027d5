// Locks on open files.

import FireweedTransport
import Glibc

/// Locks open files between processes (flock(2)).
///
/// Such a lock belongs to the open file, not to a descriptor: a child process shares it until the child runs its own
/// program, which takes long on a busy machine. Closing the descriptor in the parent would leave the file locked until
/// then. `close` therefore releases the lock first.
enum FileLock {
    enum Kind {
        case shared, exclusive
    }

    /// Locks the file; returns the error number, `EWOULDBLOCK` where another open file has the lock and `waits` is
    /// false, and 0 for success.
    static func take(_ descriptor: Int32, _ kind: Kind, waits: Bool = false) -> Int32 {
        if waits { BlockingCall.check("flock") }
        let operation = (kind == .shared ? LOCK_SH : LOCK_EX) | (waits ? 0 : LOCK_NB)
        while flock(descriptor, operation) != 0 {
            let code = errno
            if code != EINTR { return code }
        }
        return 0
    }

    /// Releases the lock; the file stays open.
    static func release(_ descriptor: Int32) {
        flock(descriptor, LOCK_UN)
    }

    /// Releases the lock and closes the file.
    static func close(_ descriptor: Int32) {
        release(descriptor)
        Glibc.close(descriptor)
    }
}
