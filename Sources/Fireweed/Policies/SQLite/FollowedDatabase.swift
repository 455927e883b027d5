// A connection that follows the file of its database.

#if SQLite
import Foundation
import Synchronization

/// A connection to the database that is at a path now; for one thread at a time.
///
/// Someone may remove or replace the file while it is open: SQLite would use the old file, which no other process
/// finds, for as long as the connection lives. So each use asks SQLite whether the file is still at its path, which
/// costs one `stat`, and opens the other file otherwise. After damage, the database is replaced where its source says
/// so.
struct FollowedDatabase {
    private let source: DatabaseSource
    private let waiting: DatabaseSource.Waiting
    private let trust: UInt64
    private let busyPause: UInt64
    /// `nil` after the file, or its index, was replaced and could not be opened.
    private(set) var connection: SQLiteConnection?
    /// When the file was last found at its path, on the machine's clock in nanoseconds.
    private var checkedAt: UInt64 = 0
    /// The source's number of changes at that time.
    private var changeCount = 0
    /// Until when locks of other processes are not waited for, on the machine's clock in nanoseconds.
    private var busyUntil: UInt64 = 0

    /// Opens the file, or makes it.
    ///
    /// - Parameters:
    ///   - source: the database.
    ///   - waiting: how long a use waits for locks of other connections.
    ///   - opening: how long this first opening waits instead; as `waiting` by default.
    ///   - trust: nanoseconds for which the file is not looked for again; zero by default.
    ///   - busyPause: nanoseconds without waiting, after a lock was waited for in vain; a second by default.
    /// - Throws: `SQLiteFailure`.
    init(
        _ source: DatabaseSource, waiting: DatabaseSource.Waiting, opening: DatabaseSource.Waiting? = nil,
        trust: UInt64 = 0, busyPause: UInt64 = 1_000_000_000
    ) throws(SQLiteFailure) {
        (self.source, self.waiting, self.trust, self.busyPause) = (source, waiting, trust, busyPause)
        connection = try source.connect(opening ?? waiting)
        if opening != nil { connection?.wait(waiting.milliseconds) }
    }

    /// Uses the connection; after damage once more, on an empty database.
    ///
    /// Another process may keep the database locked. This then waits once, and throws `.busy` without waiting for a
    /// while: callers would otherwise wait one after the other.
    mutating func use<Value>(
        _ body: (SQLiteConnection) throws(SQLiteFailure) -> Value
    ) throws(SQLiteFailure) -> Value {
        guard BootClock.nanoseconds >= busyUntil else { throw .busy }
        do throws(SQLiteFailure) {
            let current = try follow()
            do throws(SQLiteFailure) {
                return try body(current)
            } catch  where error.isDamage {
                let replacement = try source.replace(damaged: current, after: error, waiting)
                connection = replacement
                source.changes.add(1, ordering: .releasing)
                return try body(replacement)
            }
        } catch {
            if error.isBusy { busyUntil = BootClock.nanoseconds.addingSaturating(busyPause) }
            throw error
        }
    }

    /// Closes the connection where its file, or its index, is no longer at the path; the next use opens another one.
    mutating func closeMoved() {
        if connection?.hasMoved ?? false { connection = nil }
    }

    /// The connection to the file at the path, which is opened where that is another one than the open file.
    private mutating func follow() throws(SQLiteFailure) -> SQLiteConnection {
        let (now, changes) = (BootClock.nanoseconds, source.changes.load(ordering: .acquiring))
        if let connection, changeCount == changes, now - checkedAt < trust { return connection }
        closeMoved()  // before the next one is opened, which may have another index
        let current: SQLiteConnection
        if let connection {
            current = connection
        } else {
            current = try source.connect(waiting)
            connection = current
            source.changes.add(1, ordering: .releasing)
        }
        (checkedAt, changeCount) = (now, changes)
        return current
    }
}
#endif
