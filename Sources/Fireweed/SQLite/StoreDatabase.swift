// The database of a store: its file, its tables, and what becomes of a damaged one.

import Foundation
import Glibc

/// Opens the file of a store, and replaces a damaged file by an empty one.
struct StoreDatabase: Sendable {
    let path: String

    /// How long a call waits for locks of other connections, in milliseconds.
    enum Waiting: Int32 {
        /// A request waits for the result.
        case reader = 50
        case writer = 5000
    }

    /// The version of the tables, which the file has as its `user_version`.
    private static let form = 2

    /// A connection to a database with our tables; throws ``ResponseStoreError``.
    func open(_ waiting: Waiting) throws(ResponseStoreError) -> SQLiteConnection {
        let inode = inode
        do {
            return try connect(waiting)
        } catch let error as SQLiteFailure where error.isDamage {
            return try replace(damaged: inode, waiting)
        } catch let error as SQLiteFailure {
            throw error.code & 0xFF == 14 ? .cannotOpen(path: path, reason: error.reason) : error.storeError
        } catch let error as ResponseStoreError {
            throw error
        } catch {
            throw .cannotOpen(path: path, reason: "\(error)")
        }
    }

    /// The inode of the file at the path; 0 without a file.
    var inode: UInt {
        var status = stat()
        return stat(path, &status) == 0 ? UInt(status.st_ino) : 0
    }

    private func connect(_ waiting: Waiting) throws -> SQLiteConnection {
        try makeFile()
        let connection = try SQLiteConnection(path: path, busyMilliseconds: waiting.rawValue)
        // A write is in the log before it is in the file, and whole or not at all, whenever the process dies. After a
        // power cut the last writes may be missing, which is no loss in a cache.
        try connection.useWriteAheadLog(waitingMilliseconds: waiting.rawValue)
        try connection.run("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304")
        let form = try connection.number("PRAGMA user_version")
        if form != Self.form { try connection.transaction { () throws(SQLiteFailure) in try makeTables(connection) } }
        return connection
    }

    /// Makes the file, readable by its owner only; SQLite gives its companion files the same mode.
    private func makeFile() throws(ResponseStoreError) {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .cannotOpen(path: path, reason: String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o777 != 0o600 {
            fchmod(descriptor, 0o600)
        }
    }

    private func makeTables(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        // Asked again under the lock: another process may have been first.
        guard try connection.number("PRAGMA user_version") != Self.form else { return }
        try connection.run(
            """
            DROP TABLE IF EXISTS responses;
            DROP TABLE IF EXISTS totals;
            CREATE TABLE responses (
                key TEXT NOT NULL, variant BLOB NOT NULL, tag INTEGER NOT NULL, head BLOB NOT NULL,
                head_check INTEGER NOT NULL, content_check INTEGER NOT NULL, byte_count INTEGER NOT NULL,
                used_at INTEGER NOT NULL, content BLOB NOT NULL);
            CREATE UNIQUE INDEX responses_by_key ON responses (key, variant);
            CREATE INDEX responses_by_use ON responses (used_at);
            CREATE TABLE totals (byte_count INTEGER NOT NULL);
            INSERT INTO totals VALUES (0);
            CREATE TRIGGER responses_added AFTER INSERT ON responses
                BEGIN UPDATE totals SET byte_count = byte_count + new.byte_count; END;
            CREATE TRIGGER responses_removed AFTER DELETE ON responses
                BEGIN UPDATE totals SET byte_count = byte_count - old.byte_count; END;
            PRAGMA user_version = \(Self.form);
            """)
    }

    // MARK: Damage

    /// Renames a damaged database to `…-damaged`, and makes an empty one.
    ///
    /// Holds a lock between processes, since two processes that find the damage at once must not rename each other's
    /// new file. `damaged` is the inode of the damaged file: another inode at the path means that another process has
    /// replaced the file already. A reader does not wait for the lock: it throws `.busy`.
    func replace(damaged: UInt, _ waiting: Waiting) throws(ResponseStoreError) -> SQLiteConnection {
        let lock = Glibc.open("\(path)-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw .damaged(path: path) }
        defer { close(lock) }
        guard flock(lock, waiting == .reader ? LOCK_EX | LOCK_NB : LOCK_EX) == 0 else {
            throw errno == EWOULDBLOCK ? .busy : .damaged(path: path)
        }
        if inode != damaged, let connection = try? connect(waiting) { return connection }  // another process was first
        setAside()
        do {
            return try connect(waiting)
        } catch {
            throw .damaged(path: path)
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
