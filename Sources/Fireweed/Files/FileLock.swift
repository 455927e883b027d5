// Locks on open files.

import FireweedTransport
import Glibc

/// Locks open files between processes (flock(2)).
///
/// Such a lock belongs to the open file, not to a descriptor: a forked child shares the lock until the child calls
/// exec(3), which can take long on a busy machine. Closing the descriptor in the parent would leave the file locked
/// until then. `close` therefore releases the lock first.
package enum FileLock {
    package enum Kind {
        case shared, exclusive
    }

    package enum LockResult {
        case taken
        /// Another open file kept the lock for the whole waiting time.
        case busy
        /// The file cannot be locked.
        case unusable
    }

    /// The longest pause between two tries, in microseconds.
    private static let longestPause: UInt32 = 50_000

    private static var milliseconds: Int { Int(SystemClock().monotonicNanoseconds / 1_000_000) }

    /// Locks an open file.
    ///
    /// - Parameters:
    ///   - descriptor: the file, which ``close(_:)`` closes.
    ///   - kind: whether others may share the lock.
    ///   - waitingMilliseconds: how long another open file may keep the lock; zero tries once.
    /// - Returns: whether this open file has the lock now.
    package static func take(_ descriptor: Int32, _ kind: Kind, waitingMilliseconds: Int = 0) -> LockResult {
        if waitingMilliseconds > 0 { BlockingCall.check("flock") }
        let end = milliseconds + waitingMilliseconds
        var pause: UInt32 = 500
        while flock(descriptor, (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            let code = errno
            if code == EINTR { continue }
            guard code == EWOULDBLOCK else { return .unusable }
            guard milliseconds < end else { return .busy }
            // Neither flock(2) nor F_OFD_SETLKW takes a deadline, a library must not use the process's signals to end
            // the call, and a thread in the call would wait for as long as the other process holds the lock. So the
            // lock is tried again after growing pauses, in the end 20 times a second.
            usleep(pause)
            pause = min(pause * 2, longestPause)
        }
        return .taken
    }

    /// Whether a path names this open file itself, not a symbolic link to the file.
    ///
    /// The former owner of the lock may have replaced or removed the file before: the lock then protects nothing.
    static func isFile(_ descriptor: Int32, at path: String) -> Bool {
        BlockingCall.check("lstat")
        var (opened, named) = (stat(), stat())
        return fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0
            && (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)
    }

    /// Releases the lock; the file stays open.
    static func release(_ descriptor: Int32) {
        flock(descriptor, LOCK_UN)
    }

    /// Releases the lock and closes the file.
    package static func close(_ descriptor: Int32) {
        release(descriptor)
        Glibc.close(descriptor)
    }
}
