// A lock beside a database that may be replaced.

#if SQLite
import FireweedTransport
import Glibc

/// Holds the lock file of a database, whose name ends in `-lock`, until the value goes.
///
/// A process that replaces a damaged database holds the lock alone, and all that open the database share the lock: a
/// connection that is opened between two renames would have a new database and the log of the old one.
struct DatabaseLock: ~Copyable {
    enum Failure: Error {
        /// Another process has kept the lock for as long as the lock is waited for.
        case busy
        /// The lock file cannot be opened or locked.
        case unusable
    }

    private let descriptor: Int32

    /// Takes the lock of the database at a path, which is not a symbolic link.
    init(beside path: String, _ kind: FileLock.Kind, waitingMilliseconds: Int) throws(Failure) {
        BlockingCall.check("open")
        let opened = open("\(path)-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw .unusable }
        switch FileLock.take(opened, kind, waitingMilliseconds: waitingMilliseconds) {
        case .taken: descriptor = opened
        case .busy:
            close(opened)
            throw .busy
        case .unusable:
            close(opened)
            throw .unusable
        }
    }

    /// Runs `body` before the lock is released.
    borrowing func whileHeld<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        try body()
    }

    deinit { FileLock.close(descriptor) }
}
#endif
