// The database of a store: its file, its tables, and what becomes of a damaged one.

import Foundation
import Glibc

/// Opens the file of a store and puts an empty one in the place of a damaged one.
struct StoreDatabase: Sendable {
    let path: String

    /// Kept in the file; another number means other tables.
    private static let form = 1

    /// A connection to a database with our tables; throws `ResponseStoreError`.
    func open() throws(ResponseStoreError) -> SQLiteConnection {
        do {
            return try connect()
        } catch let error as SQLiteFailure where error.isDamage {
            return try replaceDamaged()
        } catch let error as SQLiteFailure {
            throw error.code & 0xFF == 14 ? .cannotOpen(path: path, reason: error.reason) : error.storeError
        } catch let error as ResponseStoreError {
            throw error
        } catch {
            throw .cannotOpen(path: path, reason: "\(error)")
        }
    }

    /// The file that is at the path now; 0 for none.
    var inode: UInt {
        var status = stat()
        return stat(path, &status) == 0 ? UInt(status.st_ino) : 0
    }

    private func connect() throws -> SQLiteConnection {
        try makeFile()
        let connection = try SQLiteConnection(path: path)
        // A write is in the log before it is in the file, and whole or not at all, whenever the process dies. After a power cut
        // the last writes may be missing, which is no loss in a cache.
        try connection.run(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304")
        let form = try connection.number("PRAGMA user_version")
        if form != Self.form { try connection.transaction { () throws(SQLiteFailure) in try makeTables(connection) } }
        return connection
    }

    /// Makes the file for its owner alone; SQLite gives its companions the same mode.
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
                byte_count INTEGER NOT NULL, used_at INTEGER NOT NULL, content BLOB NOT NULL);
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

    /// Removes a damaged database and makes an empty one.
    ///
    /// Under a lock between processes, since two that find the damage at once must not remove each other's new file.
    private func replaceDamaged() throws(ResponseStoreError) -> SQLiteConnection {
        let lock = Glibc.open("\(path)-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX) == 0 else { throw .damaged(path: path) }
        defer { close(lock) }
        if let repaired = try? connect(), isSound(repaired) { return repaired }  // another process was first
        for name in [path, "\(path)-wal", "\(path)-shm"] { unlink(name) }
        do {
            return try connect()
        } catch {
            throw .damaged(path: path)
        }
    }

    private func isSound(_ connection: SQLiteConnection) -> Bool {
        var isSound = false
        try? connection.statement("PRAGMA quick_check(1)").rows([]) { (row: SQLiteStatement) throws(SQLiteFailure) in
            isSound = row.withBytes(0) { $0.elementsEqual("ok".utf8) }
        }
        return isSound
    }

    /// Makes an empty database because this one showed damage after it had been opened.
    func reopenAfterDamage() throws(ResponseStoreError) -> SQLiteConnection {
        try replaceDamaged()
    }
}
