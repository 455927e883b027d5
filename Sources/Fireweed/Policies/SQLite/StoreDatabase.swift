// The database of a store: its file, its tables, and what becomes of a damaged one.

import CLinux
import FireweedTransport
import Foundation
import Glibc

/// Opens the file of a store, and replaces a damaged file by an empty one.
struct StoreDatabase: Sendable {
    let path: String

    /// Takes the path of the file; that of a symbolic link stands for its target.
    ///
    /// Of several paths to one file, all have one lock, and the same companion files.
    init(path: String) {
        self.path =
            switch try? FileDestination(at: URL(fileURLWithPath: path)) {
            case .file(let target, _), .vacant(let target): target
            case .stream, nil: path
            }
    }

    /// How long a call waits for locks of other connections, in milliseconds.
    enum Waiting: Int32 {
        /// A request waits for the result.
        case reader = 50
        case writer = 5000

        /// How long a call waits for the lock beside the file: a reader does not.
        var lockMilliseconds: Int { self == .writer ? Int(rawValue) : 0 }
    }

    /// The number of the form in which responses are stored, and of how they are found.
    ///
    /// The tables of each form have names of their own, so that programs of different versions may use a file at the
    /// same time: neither reads nor changes what the other has stored. Raise the number when the columns, an encoding
    /// or the keys of stored responses change, and name the former tables in `formerResponses`. The first two forms had
    /// their number as `user_version`, which is left alone: a program of that time removes its own tables when the
    /// number is another.
    private static let form = 4
    static let responses = "responses_\(form)"
    static let totals = "totals_\(form)"
    private static let formerResponses = ["responses", "responses_3"]
    /// Nanoseconds without use after which a response of a former form is removed, for its space: a week.
    private static let formerLifetime = 7 * 86_400 * 1_000_000_000

    /// A connection to a database with our tables, and the inode of its file; throws ``ResponseStoreError``.
    func open(_ waiting: Waiting) throws(ResponseStoreError) -> (connection: SQLiteConnection, inode: UInt) {
        let seen = inode
        do throws(SQLiteFailure) {
            return try connectWhileShared(waiting)
        } catch  where error.isDamage {
            return try replace(damaged: seen, waiting)
        } catch {
            throw error.isUnopened ? .cannotOpen(path: path, reason: error.reason) : error.storeError
        }
    }

    private func connectWhileShared(
        _ waiting: Waiting
    ) throws(SQLiteFailure) -> (connection: SQLiteConnection, inode: UInt) {
        let lock: DatabaseLock
        do throws(DatabaseLock.Failure) {
            lock = try DatabaseLock(beside: path, .shared, waitingMilliseconds: waiting.lockMilliseconds)
        } catch {
            // A database of another user can be used without its lock file.
            guard error == .busy else { return try connect(waiting) }
            throw .busy
        }
        return try lock.whileHeld { () throws(SQLiteFailure) in try connect(waiting) }
    }

    /// The inode of the file at the path; 0 without a file.
    var inode: UInt {
        BlockingCall.check("stat")
        var status = stat()
        return stat(path, &status) == 0 ? UInt(status.st_ino) : 0
    }

    /// Opens the file; the caller holds the lock, so that the inode is that of the connection.
    private func connect(_ waiting: Waiting) throws(SQLiteFailure) -> (connection: SQLiteConnection, inode: UInt) {
        let connection = try SQLiteConnection(path: path, busyMilliseconds: waiting.rawValue, becomesPrivate: true)
        // A write is in the log before it is in the file, and whole or not at all, whenever the process dies. After a
        // power cut the last writes may be missing, which is no loss in a cache.
        try connection.useWriteAheadLog(waitingMilliseconds: waiting.rawValue)
        try connection.run("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304")
        if try !has(Self.totals, connection) {
            try connection.transaction { () throws(SQLiteFailure) in try makeTables(connection) }
        }
        if waiting == .writer { try removeUnusedFormer(connection) }
        return (connection, inode)
    }

    private func has(_ table: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> Bool {
        try connection.number(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", .text(table)) > 0
    }

    /// Removes responses of former versions that no program has used for long; their tables stay for these programs.
    private func removeUnusedFormer(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        let end = Int(fw_clock_nanoseconds(CLOCK_REALTIME)) - Self.formerLifetime
        for table in Self.formerResponses where try has(table, connection) {
            try connection.run("DELETE FROM \(table) WHERE used_at < ?", .number(end))
        }
    }

    private func makeTables(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        // Asked again under the lock: another process may have been first.
        guard try !has(Self.totals, connection) else { return }
        let (responses, totals) = (Self.responses, Self.totals)
        try connection.run(
            """
            CREATE TABLE \(responses) (
                key TEXT NOT NULL, variant BLOB NOT NULL, tag INTEGER NOT NULL, head BLOB NOT NULL,
                head_check INTEGER NOT NULL, content_check INTEGER NOT NULL, byte_count INTEGER NOT NULL,
                used_at INTEGER NOT NULL, content BLOB NOT NULL);
            CREATE UNIQUE INDEX \(responses)_by_key ON \(responses) (key, variant);
            CREATE INDEX \(responses)_by_use ON \(responses) (used_at);
            CREATE TABLE \(totals) (byte_count INTEGER NOT NULL);
            INSERT INTO \(totals) VALUES (0);
            CREATE TRIGGER \(responses)_added AFTER INSERT ON \(responses)
                BEGIN UPDATE \(totals) SET byte_count = byte_count + new.byte_count; END;
            CREATE TRIGGER \(responses)_removed AFTER DELETE ON \(responses)
                BEGIN UPDATE \(totals) SET byte_count = byte_count - old.byte_count; END;
            """)
    }

    // MARK: Damage

    /// Renames a damaged database to `…-damaged`, and makes an empty one.
    ///
    /// Holds a lock between processes, since two processes that find the damage at once must not rename each other's
    /// new file. `damaged` is the inode of the damaged file: another inode at the path means that another process has
    /// replaced the file already. A reader does not wait for the lock: it throws `.busy`.
    func replace(
        damaged: UInt, _ waiting: Waiting
    ) throws(ResponseStoreError) -> (connection: SQLiteConnection, inode: UInt) {
        let lock: DatabaseLock
        do throws(DatabaseLock.Failure) {
            lock = try DatabaseLock(beside: path, .exclusive, waitingMilliseconds: waiting.lockMilliseconds)
        } catch {
            throw error == .busy ? .busy : .damaged(path: path)
        }
        return try lock.whileHeld { () throws(ResponseStoreError) in
            if inode != damaged, let opened = try? connect(waiting) { return opened }  // another process was first
            setAside()
            do {
                return try connect(waiting)
            } catch {
                throw .damaged(path: path)
            }
        }
    }

    /// Renames the damaged file for inspection; an older one is removed.
    private func setAside() {
        unlink("\(path)-damaged-wal")
        if rename(path, "\(path)-damaged") != 0 { unlink(path) }
        if rename("\(path)-wal", "\(path)-damaged-wal") != 0 { unlink("\(path)-wal") }
        unlink("\(path)-shm")
    }
}
