// A lock beside a database that may be replaced.

import FireweedTransport
import Glibc

/// Holds the lock file of a database, whose name ends in `-lock`, until the value goes.
///
/// A process that replaces a damaged database holds the lock alone, and all that open the database share the lock: a
/// connection that is opened between two renames would have a new database and the log of the old one.
struct DatabaseLock: ~Copyable {
    enum Kind {
        case shared, exclusive
    }

    enum Failure: Error {
        /// Another process has the lock, and the lock is not waited for.
        case busy
        /// The lock file cannot be opened or locked.
        case unusable
    }

    private let descriptor: Int32

    init(beside path: String, _ kind: Kind, waits: Bool) throws(Failure) {
        BlockingCall.check("flock")
        let opened = open("\(path)-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw .unusable }
        while flock(opened, (kind == .shared ? LOCK_SH : LOCK_EX) | (waits ? 0 : LOCK_NB)) != 0 {
            let code = errno
            guard code != EINTR else { continue }
            close(opened)
            throw code == EWOULDBLOCK ? .busy : .unusable
        }
        descriptor = opened
    }

    /// Runs `body` before the lock is released.
    borrowing func whileHeld<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        try body()
    }

    deinit { close(descriptor) }
}
