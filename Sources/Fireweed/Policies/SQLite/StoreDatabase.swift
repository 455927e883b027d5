// The tables of a response store.

#if SQLite
import FireweedTransport
import Foundation

/// Names and makes the tables of stored responses.
enum StoreDatabase {
    /// Short waits, for uses that must not delay a request: reads, and the last write of a store that is released.
    static let reading = DatabaseSource.Waiting(milliseconds: 50, lockMilliseconds: 0)
    static let writing = DatabaseSource.Waiting(milliseconds: 5000, lockMilliseconds: 5000)

    /// The version of the format in which responses are stored and found.
    ///
    /// The tables of each version have their own names, so that programs of different versions can use a file at the
    /// same time: no version reads or changes the responses of another, except that former responses are removed after
    /// a week without use. Raise the version when the columns, an encoding or the keys of stored responses change, and
    /// add the former table to `formerResponses`. The first two versions wrote their number into `user_version`. It
    /// stays unchanged, since a program of those versions removes its own tables when that number differs.
    private static let form = 4
    static let responses = "responses_\(form)"
    static let totals = "totals_\(form)"
    private static let formerResponses = ["responses", "responses_3"]
    /// Nanoseconds without use after which a response of a former version is removed, to free its space: one week.
    private static let formerLifetime = 7 * 86_400 * 1_000_000_000

    /// Returns the source of a store's database at a path.
    static func source(path: String) -> DatabaseSource {
        DatabaseSource(path: path, replacesDamaged: true, becomesPrivate: true) {
            (connection, waiting) throws(SQLiteFailure) in
            try connection.leaveWriteAheadLog()
            // Each write takes effect as a whole or not at all, even if the process dies. After a power failure the
            // file may be damaged; the damage is detected, and a cache can be filled again.
            try connection.run("PRAGMA synchronous = OFF")
            if try !has(totals, connection) {
                try connection.transaction { () throws(SQLiteFailure) in try makeTables(connection) }
            }
            if waiting == writing { try removeUnusedFormer(connection) }
        }
    }

    private static func has(_ table: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> Bool {
        try connection.number(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", .text(table)) > 0
    }

    /// Removes responses of former versions after a week without use; the tables stay for programs of those versions.
    private static func removeUnusedFormer(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        let end = Int(WallClock.nanoseconds) - formerLifetime
        for table in formerResponses where try has(table, connection) {
            try connection.run("DELETE FROM \(table) WHERE used_at < ?", .number(end))
        }
    }

    private static func makeTables(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        // Checks again, now under the lock: another process may have made the tables.
        guard try !has(totals, connection) else { return }
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
}
#endif
