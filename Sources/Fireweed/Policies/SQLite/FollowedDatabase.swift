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
    private(set) var connection: SQLiteConnection
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
        if opening != nil { connection.wait(waiting.milliseconds) }
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
            try follow()
            do throws(SQLiteFailure) {
                return try body(connection)
            } catch  where error.isDamage {
                connection = try source.replace(damaged: connection, after: error, waiting)
                source.changes.add(1, ordering: .releasing)
            }
            return try body(connection)
        } catch {
            if error.isBusy { busyUntil = BootClock.nanoseconds.addingSaturating(busyPause) }
            throw error
        }
    }

    /// Opens the file at the path, where that is another one than the open file.
    private mutating func follow() throws(SQLiteFailure) {
        let (now, changes) = (BootClock.nanoseconds, source.changes.load(ordering: .acquiring))
        guard changeCount != changes || now - checkedAt >= trust else { return }
        if connection.hasMoved {
            connection = try source.connect(waiting)
            source.changes.add(1, ordering: .releasing)
        }
        (checkedAt, changeCount) = (now, changes)
    }
}
#endif
