// A connection that follows the file of its database.

#if SQLite
import Foundation

/// A connection to the database that is at a path now; for one thread at a time.
///
/// Another process may remove or replace the file while it is open. SQLite would then use the old file, which no other
/// process finds, until the connection is closed. So each use checks, under the lock beside the database and with five
/// system calls, whether the open file is still at its path, and otherwise opens the new file. A damaged database is
/// replaced if its source says so.
struct FollowedDatabase {
    private let source: DatabaseSource
    /// How long a use waits for locks of other connections.
    private(set) var waiting: DatabaseSource.Waiting
    private let busyPause: UInt64
    /// The open connection; `nil` after the file was replaced and could not be opened.
    private var current: CheckedConnection?
    /// Until when uses fail with `.busy` without waiting, in nanoseconds of `BootClock`.
    private var busyUntil: UInt64 = 0

    /// Opens the file, or makes it.
    ///
    /// - Parameters:
    ///   - source: the database.
    ///   - waiting: how long a use waits for locks of other connections.
    ///   - opening: how long this first opening waits; `nil`, the default, means `waiting`.
    ///   - busyPause: after a wait for a lock has failed, uses fail without waiting for this many nanoseconds; one
    ///     second by default.
    /// - Throws: `SQLiteFailure`.
    init(
        _ source: DatabaseSource, waiting: DatabaseSource.Waiting, opening: DatabaseSource.Waiting? = nil,
        busyPause: UInt64 = 1_000_000_000
    ) throws(SQLiteFailure) {
        (self.source, self.waiting, self.busyPause) = (source, waiting, busyPause)
        current = try source.connect(opening ?? waiting)
        if opening != nil { current?.connection.wait(waiting.milliseconds) }
    }

    /// Changes how long a use waits.
    mutating func wait(_ waiting: DatabaseSource.Waiting) {
        self.waiting = waiting
        current?.connection.wait(waiting.milliseconds)
    }

    /// Calls `body` with the connection; calls `body` again if the file was moved, or if a damaged database was
    /// replaced by an empty one.
    ///
    /// When a call has waited for a lock without success, calls during the next `busyPause` throw `.busy` at once:
    /// callers would otherwise wait one after another.
    mutating func use<Value>(
        _ body: (SQLiteConnection) throws(SQLiteFailure) -> Value
    ) throws(SQLiteFailure) -> Value {
        guard BootClock.nanoseconds >= busyUntil else { throw .busy }
        do throws(SQLiteFailure) {
            do throws(SQLiteFailure) {
                return try useOnce(body)
            } catch  where error.isOfMovedFile {
                current = nil
                return try useOnce(body)
            } catch  where error.isDamage {
                let damaged = current?.identity
                current = nil
                try source.replace(damaged, after: error, waiting)
                return try useOnce(body)
            }
        } catch {
            if error.isBusy { busyUntil = BootClock.nanoseconds.addingSaturating(busyPause) }
            throw error
        }
    }

    private mutating func useOnce<Value>(
        _ body: (SQLiteConnection) throws(SQLiteFailure) -> Value
    ) throws(SQLiteFailure) -> Value {
        for _ in 0..<DatabaseSource.tryCount {
            let opened: CheckedConnection
            if let current {
                opened = current
            } else {
                opened = try source.connect(waiting)
                current = opened
            }
            if source.leads(to: opened.path), try opened.enter(waiting) {
                defer { opened.leave() }
                return try body(opened.connection)
            }
            current = nil
        }
        throw .busy
    }
}

/// A connection, the identity of its file, and the lock beside it.
struct CheckedConnection {
    let connection: SQLiteConnection
    let path: String
    let identity: DatabaseIdentity
    /// The lock beside the file; `nil` if the lock file cannot be used, for instance for the database of another user.
    let lock: DatabaseLock?

    /// Takes the lock shared; false if the open file is not at its path, or is not the file that the lock file names.
    func enter(_ waiting: DatabaseSource.Waiting) throws(SQLiteFailure) -> Bool {
        guard let lock else { return DatabaseIdentity(path: path) == identity }
        guard try DatabaseSource.take(lock, .shared, waiting) else { return false }
        if lock.isAtPath, lock.identity == identity, DatabaseIdentity(path: path) == identity { return true }
        lock.release()
        return false
    }

    func leave() { lock?.release() }
}
#endif
