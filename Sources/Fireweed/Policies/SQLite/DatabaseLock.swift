// A lock beside a database that may be replaced.

#if SQLite
import FireweedTransport
import Glibc

/// Holds the lock file of a database, whose name ends in `-lock`, until the value goes.
///
/// A process that replaces a damaged database holds the lock alone, and all that open the database share the lock: a
/// connection that is opened between two renames would have a new database and the log of the old one. The file names
/// the database whose log and index lie beside it (`DatabaseIdentity`).
struct DatabaseLock: ~Copyable {
    enum Failure: Error {
        /// Another process has kept the lock for as long as the lock is waited for, or the process has no descriptors.
        case busy
        /// The lock file cannot be opened or locked.
        case unusable
    }

    private let descriptor: Int32

    /// Takes the lock of the database at a path, which is not a symbolic link.
    init(beside path: String, _ kind: FileLock.Kind, waitingMilliseconds: Int) throws(Failure) {
        BlockingCall.check("open")
        // A link could name a file of anybody, which would be overwritten.
        let opened = open("\(path)-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { throw [EMFILE, ENFILE, ENOMEM].contains(errno) ? .busy : .unusable }
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
    borrowing func whileHeld<Value, Failure: Error>(
        _ body: (borrowing DatabaseLock) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(self)
    }

    /// The identity in the lock file; `nil` where there is none.
    var identity: DatabaseIdentity? {
        BlockingCall.check("pread")
        var text = [UInt8](repeating: 0, count: 64)
        let count = pread(descriptor, &text, text.count, 0)
        return count > 0 ? DatabaseIdentity(text: String(decoding: text[..<count], as: UTF8.self)) : nil
    }

    /// Writes an identity; who calls this holds the lock alone.
    borrowing func note(_ identity: DatabaseIdentity) {
        BlockingCall.check("pwrite")
        let text = Array(identity.text.utf8)
        // A file that is only cut says nothing, which is safe.
        if ftruncate(descriptor, 0) == 0 { pwrite(descriptor, text, text.count, 0) }
    }

    deinit { FileLock.close(descriptor) }
}
#endif
