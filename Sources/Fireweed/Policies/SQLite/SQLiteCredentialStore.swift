// Shared credentials of the processes of one machine.

#if SQLite
import Dispatch
import Foundation
import Synchronization

/// Keeps sealed credentials in an SQLite file.
///
/// Leases use `BootClock`, and an owner's name begins with `BootClock.identifier`: a lock from before a restart of the
/// machine has ended. A damaged file is an error and stays where it is: it may be all that is left of the credentials.
final class SQLiteCredentialStore: CredentialStore, @unchecked Sendable {
    // SAFETY: the database is used only on the serial queue.
    private var database: FollowedDatabase
    private let queue = DispatchQueue(label: "fireweed.credentials")

    /// Longest time that a call waits for the locks of other processes.
    private static let waiting = DatabaseSource.Waiting(milliseconds: 5000, lockMilliseconds: 5000)

    var pollInterval: Duration { .milliseconds(20) }

    /// Opens a file, or makes it for its owner only.
    init(file: URL) throws(CredentialVaultError) {
        let source = DatabaseSource(path: file.path, replacesDamaged: false) {
            (connection, _) throws(SQLiteFailure) in
            try connection.run("PRAGMA synchronous = FULL")
            try connection.run(
                """
                CREATE TABLE IF NOT EXISTS credentials (
                    name TEXT PRIMARY KEY, version INTEGER NOT NULL, sealed BLOB, owner TEXT NOT NULL,
                    lease_end INTEGER NOT NULL)
                """)
        }
        do throws(SQLiteFailure) {
            database = try FollowedDatabase(source, waiting: Self.waiting)
        } catch {
            throw .cannotOpen(path: file.path, reason: error.reason)
        }
    }

    /// Runs `body` in one transaction on the queue.
    private func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection, Int) throws(SQLiteFailure) -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                do throws(SQLiteFailure) {
                    let result = try database.use { (connection: SQLiteConnection) throws(SQLiteFailure) in
                        try connection.transaction { () throws(SQLiteFailure) in
                            try body(connection, BootClock.milliseconds)
                        }
                    }
                    continuation.resume(returning: result)
                } catch {
                    continuation.resume(throwing: error.storeError)
                }
            }
        }
    }

    private struct Row: Sendable {
        var version = 0
        var sealed = Data()
        var owner = ""
        var leaseEnd = 0
    }

    private static let ownerPrefix = "\(BootClock.identifier) "

    private static func row(_ name: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> Row {
        var row = Row()
        let statement = try connection.statement(
            "SELECT version, sealed, owner, lease_end FROM credentials WHERE name = ?")
        try statement.rows([.text(name)]) { (found: SQLiteStatement) throws(SQLiteFailure) in
            row = Row(
                version: found.number(0), sealed: found.withBytes(1) { Data($0) }, owner: found.text(2),
                leaseEnd: found.number(3))
            if !StoredCredential.versions.contains(row.version) { row.version = 0 }
            if !row.owner.hasPrefix(ownerPrefix) { row.owner = "" }
        }
        return row
    }

    private static func write(_ row: Row, _ name: String, _ connection: SQLiteConnection) throws(SQLiteFailure) {
        try connection.run(
            "INSERT OR REPLACE INTO credentials VALUES (?, ?, ?, ?, ?)", .text(name), .number(row.version),
            .blob(row.sealed), .text(row.owner), .number(row.leaseEnd))
    }

    private static func milliseconds(_ lease: Duration) -> Int { Int(lease.nanosecondCount / 1_000_000) }

    func look(_ name: String, owner: String?, lease: Duration) async throws -> CredentialLook {
        let owner = owner.map { Self.ownerPrefix + $0 }
        return try await transaction { (connection, now) throws(SQLiteFailure) in
            var row = try Self.row(name, connection)
            if let owner, row.owner.isEmpty || row.owner == owner || row.leaseEnd <= now {
                row.owner = owner
                row.leaseEnd = now + Self.milliseconds(lease)
                try Self.write(row, name, connection)
            }
            let entry = row.version > 0 ? StoredCredential(version: row.version, sealed: row.sealed) : nil
            return CredentialLook(entry: entry, hasLock: owner != nil && row.owner == owner)
        }
    }

    func renew(_ name: String, owner: String, lease: Duration) async throws -> Bool {
        let owner = Self.ownerPrefix + owner
        return try await transaction { (connection, now) throws(SQLiteFailure) in
            var row = try Self.row(name, connection)
            guard row.owner == owner else { return false }
            row.leaseEnd = now + Self.milliseconds(lease)
            try Self.write(row, name, connection)
            return true
        }
    }

    func replace(
        _ name: String, expecting version: Int, with entry: StoredCredential, owner: String
    ) async throws -> Bool {
        let owner = Self.ownerPrefix + owner
        return try await transaction { (connection, _) throws(SQLiteFailure) in
            var row = try Self.row(name, connection)
            guard row.version == version else { return false }
            if row.owner == owner { (row.owner, row.leaseEnd) = ("", 0) }
            (row.version, row.sealed) = (entry.version, entry.sealed)
            try Self.write(row, name, connection)
            return true
        }
    }

    func release(_ name: String, owner: String) async throws {
        let owner = Self.ownerPrefix + owner
        try await transaction { (connection, _) throws(SQLiteFailure) in
            var row = try Self.row(name, connection)
            guard row.owner == owner else { return }
            (row.owner, row.leaseEnd) = ("", 0)
            try Self.write(row, name, connection)
        }
    }
}
#endif
