// Stored responses in a SQLite database.

import CLinux
import Dispatch
import FireweedTransport
public import Foundation
import Glibc
import Synchronization

/// Keeps responses in a file, which any number of processes may share.
///
/// A response is there whole or not at all, even if a process is killed while it writes. When the bound is exceeded,
/// the responses that were not used for the longest time go. The file, which is readable by its owner alone, grows to a
/// little more than the bound; beside it there is a log of some megabytes while it is in use. A damaged database is set
/// aside, as `…-damaged`, and replaced by an empty one: what is damaged is never an answer. That is so too when one row
/// alone is damaged: a cache can be filled again, and what else is damaged is not known.
///
/// ```swift
/// let session = Session(responseStore: try SQLiteResponseStore(url: folder.appending(path: "responses.sqlite")))
/// ```
public final class SQLiteResponseStore: ResponseStore, @unchecked Sendable {
    // SAFETY: each connection is used under its own lock alone.
    private let database: StoreDatabase
    private let reader: Mutex<Lane>
    private let writer: Mutex<Lane>
    /// When responses were used that nobody has written down yet, by row.
    private let uses = Mutex<[Int: Int]>([:])
    /// Where uses are written: a look must not wait for that.
    private let useQueue = DispatchQueue(label: "fireweed.sqlite.uses", qos: .utility)
    private let changes = Atomic(0)

    /// How many bytes the responses may have together.
    public let maximumByteCount: Int
    /// Whether a stored response answers only requests with the same cookies.
    public let separatesCookies: Bool

    /// A connection, and the file that it is open on.
    private struct Lane {
        var connection: SQLiteConnection
        var inode: UInt
        /// When it was found to be the right file still, in nanoseconds since 1970.
        var checkedAt = 0
        /// How often another connection of ours had found a new file until then.
        var changes = 0
        /// End of the time without waiting for the locks of other processes, in nanoseconds since 1970.
        var busyUntil = 0
    }

    /// Nanoseconds for which a lane does not try again after it waited for a lock in vain.
    private static let busyPause = 1_000_000_000

    /// Nanoseconds for which a reader takes the file for the right one: asking costs a tenth of a look.
    private static let readerTrust = 100_000_000
    /// So many uses are gathered before they are written.
    private static let useLimit = 256
    /// Contents up to this size are read together with the head.
    private static let smallContent = 64 * 1024

    /// Opens a store, or makes one.
    ///
    /// Throws `ResponseStoreError` when the file cannot be opened or made. Folders that are missing are made, for their
    /// owner alone.
    ///
    /// - Parameters:
    ///   - url: the file.
    ///   - maximumByteCount: how many bytes the responses may have together, at least 64 KiB; 100 MiB unless said
    ///     otherwise. Of several processes, each keeps to its own bound when it stores.
    ///   - separatesCookies: whether a stored response answers only requests with the same cookies; true by default.
    ///     False is for a store that has one user (see `ResponseStore.separatesCookies`).
    public init(url: URL, maximumByteCount: Int = 100 << 20, separatesCookies: Bool = true) throws {
        database = StoreDatabase(path: url.path)
        self.maximumByteCount = max(64 << 10, maximumByteCount)
        self.separatesCookies = separatesCookies
        let folder = url.deletingLastPathComponent()
        if !FileManager.default.fileExists(atPath: folder.path) {
            // Opening the file says why, if that fails.
            try? FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        writer = Mutex(try Self.lane(database, .writer))
        reader = Mutex(try Self.lane(database, .reader))
    }

    deinit {
        // Whoever lets the store go must not wait for long.
        writer.withLock { $0.connection.wait(StoreDatabase.Waiting.reader.rawValue) }
        try? write { (_: SQLiteConnection) throws(SQLiteFailure) in }  // what was used
    }

    /// An eighth of the bound.
    public var maximumEntryByteCount: Int { maximumByteCount / 8 }

    /// How many bytes the stored responses have together.
    public var byteCount: Int {
        get throws {
            try read { (connection: SQLiteConnection) throws(SQLiteFailure) in
                try connection.number("SELECT byte_count FROM totals")
            }
        }
    }

    // MARK: The store

    /// Reads one response; one query for small ones.
    public func response(for key: String, choosing choose: ([StoredHead]) -> Int?) throws -> StoredResponse? {
        let found = try read { (connection: SQLiteConnection) throws(SQLiteFailure) -> (Row, Data)? in
            let rows = try Self.rows(of: key, connection)
            guard let index = choose(rows.map(\.head)), rows.indices.contains(index) else { return nil }
            let row = rows[index]
            if let content = row.content { return (row, content) }
            return try Self.content(of: row, connection).map { (row, $0) }
        }
        guard let (row, content) = found else { return nil }
        noteUse(of: row.number)
        return StoredResponse(head: row.head, content: content)
    }

    /// Stores one response, and removes others if the bound demands it.
    public func store(_ response: StoredResponse, for key: String) throws {
        guard response.byteCount <= maximumEntryByteCount else { return try removeResponses(for: key) }
        let (head, variant) = (response.head.encoded, response.head.variant.encoded)
        let size = Self.size(of: key, head, response.content)
        try write { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run("DELETE FROM responses WHERE key = ? AND variant = ?", .text(key), .blob(variant))
            try connection.run(
                """
                INSERT INTO responses (key, variant, tag, head, head_check, content_check, byte_count, used_at, content)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                .text(key), .blob(variant), .number(response.head.tag), .blob(head),
                .number(RowCheck.head(head, of: key)), .number(RowCheck.content(response.content)), .number(size),
                .number(Self.now), .blob(response.content))
            try evict(connection)
        }
    }

    /// Stores another head for a content, unless that has been replaced meanwhile.
    public func updateHead(_ head: StoredHead, for key: String) throws {
        let encoded = head.encoded
        try write { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run(
                "UPDATE responses SET head = ?, head_check = ?, used_at = ? WHERE key = ? AND tag = ?", .blob(encoded),
                .number(RowCheck.head(encoded, of: key)), .number(Self.now), .text(key), .number(head.tag))
        }
    }

    /// Forgets all variants of a key.
    public func removeResponses(for key: String) throws {
        try write { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run("DELETE FROM responses WHERE key = ?", .text(key))
        }
    }

    /// Forgets everything; the file keeps its size, and its room is used again.
    public func removeAllResponses() throws {
        try write { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run("DELETE FROM responses")
        }
    }

    // MARK: Reading

    private struct Row {
        var number: Int
        var head: StoredHead
        /// `nil` when it is large.
        var content: Data?
    }

    /// The index names the rows, and everything is read from the rows themselves, their keys too: asked for with the
    /// index's own columns, SQLite reads the key from the index, and a damaged index gives the response of another key.
    private static let rowQuery = """
        SELECT row.key, row.tag, row.head, row.head_check, row.content_check, length(row.content), row.content, row.rowid
        FROM responses AS entry CROSS JOIN responses AS row ON row.rowid = entry.rowid WHERE entry.key = ?
        """

    /// The variants of a key, the last one stored first; throws at a row that is damaged or another key's.
    private static func rows(of key: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> [Row] {
        var rows: [Row] = []
        try connection.statement(rowQuery).rows([.text(key)]) { (row: SQLiteStatement) throws(SQLiteFailure) in
            guard row.text(0) == key, row.withBytes(2, { RowCheck.head($0, of: key) }) == row.number(3),
                let head = row.withBytes(2, { StoredHead(encoded: $0) }), head.tag == row.number(1)
            else { throw .damagedRow }
            let isSmall = row.number(5) <= smallContent
            let content = try isSmall ? Self.content(in: 6, check: row.number(4), of: row) : nil
            rows.append(Row(number: row.number(7), head: head, content: content))
        }
        // Not by the query: it would sort in a table of its own, even one row.
        if rows.count > 1 { rows.sort { $0.number > $1.number } }
        return rows
    }

    /// The content of a row; `nil` when the row has been replaced since its head was read.
    private static func content(of row: Row, _ connection: SQLiteConnection) throws(SQLiteFailure) -> Data? {
        var found: Data?
        let query = "SELECT content, content_check FROM responses WHERE rowid = ? AND tag = ?"
        try connection.statement(query).rows([.number(row.number), .number(row.head.tag)]) {
            (row: SQLiteStatement) throws(SQLiteFailure) in found = try content(in: 0, check: row.number(1), of: row)
        }
        return found
    }

    private static func content(
        in column: Int32, check: Int, of row: SQLiteStatement
    ) throws(SQLiteFailure) -> Data {
        let content = row.withBytes(column) { RowCheck.content($0) == check ? Data($0) : nil }
        guard let content else { throw .damagedRow }
        return content
    }

    // MARK: Bounds

    /// Removes what was not used for the longest time until the rest is within the bound.
    private func evict(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        while try connection.number("SELECT byte_count FROM totals") > maximumByteCount {
            let oldest = try connection.number("SELECT rowid FROM responses ORDER BY used_at, rowid LIMIT 1")
            guard oldest != 0 else { throw .damagedRow }  // of nothing, the total is nothing
            try connection.run("DELETE FROM responses WHERE rowid = ?", .number(oldest))
        }
    }

    /// What a row takes in the file, about: what does not fit on a page goes to pages of its own.
    private static func size(of key: String, _ head: Data, _ content: Data) -> Int {
        let bytes = 2 * key.utf8.count + head.count + content.count + 160
        return bytes <= 1024 ? bytes : (bytes + 4095) / 4096 * 4096
    }

    /// Notes a use; writes them all once there are many.
    private func noteUse(of row: Int) {
        let isMuch = uses.withLock { uses in
            let isNew = uses.updateValue(Self.now, forKey: row) == nil
            return isNew && uses.count.isMultiple(of: Self.useLimit)
        }
        guard isMuch else { return }
        useQueue.async { try? self.write { (_: SQLiteConnection) throws(SQLiteFailure) in } }
    }

    private func writeUses(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        let noted = uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
        // A row that was replaced meanwhile counts as used once more, no harm done.
        for (row, time) in noted {
            try connection.run("UPDATE responses SET used_at = ? WHERE rowid = ?", .number(time), .number(row))
        }
    }

    /// Nanoseconds since 1970.
    private static var now: Int {
        Int(fw_clock_nanoseconds(CLOCK_REALTIME))
    }

    // MARK: Connections

    private static func lane(
        _ database: StoreDatabase, _ waiting: StoreDatabase.Waiting
    ) throws(ResponseStoreError) -> Lane {
        let connection = try database.open(waiting)
        return Lane(connection: connection, inode: database.inode)
    }

    private func read<Value>(
        _ body: (SQLiteConnection) throws(SQLiteFailure) -> Value
    ) throws(ResponseStoreError) -> Value {
        try use(reader, .reader, body)
    }

    /// A transaction, with the uses that wait to be written.
    private func write(_ body: (SQLiteConnection) throws(SQLiteFailure) -> Void) throws(ResponseStoreError) {
        try use(writer, .writer) { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.transaction { () throws(SQLiteFailure) in
                try writeUses(connection)
                try body(connection)
            }
        }
    }

    /// Opens the file anew when another process has put an empty database in place of a damaged one.
    private func check(_ lane: inout Lane, _ waiting: StoreDatabase.Waiting) throws(ResponseStoreError) {
        let trust = waiting == .reader ? Self.readerTrust : 0
        let (now, changes) = (Self.now, changes.load(ordering: .acquiring))
        let isTrusted = lane.changes == changes && now >= lane.checkedAt && now - lane.checkedAt < trust
        guard !isTrusted else { return }
        if lane.inode != database.inode {
            lane = try Self.lane(database, waiting)
            self.changes.add(1, ordering: .releasing)
        }
        lane.checkedAt = now
        lane.changes = changes
    }

    /// Uses a connection; after damage once more, on an empty database.
    ///
    /// Another process may keep the database locked. Then this waits once, and fails without waiting for a while:
    /// requests that wait for the cache would otherwise wait one after the other.
    private func use<Value>(
        _ lane: borrowing Mutex<Lane>, _ waiting: StoreDatabase.Waiting,
        _ body: (SQLiteConnection) throws(SQLiteFailure) -> Value
    ) throws(ResponseStoreError) -> Value {
        let result = lane.withLock { lane -> Result<Value, ResponseStoreError> in
            let now = Self.now
            guard now >= lane.busyUntil || lane.busyUntil - now > Self.busyPause else { return .failure(.busy) }
            do throws(ResponseStoreError) {
                try check(&lane, waiting)
                do throws(SQLiteFailure) {
                    return .success(try body(lane.connection))
                } catch  where error.isDamage {
                    lane.connection = try database.replace(damaged: lane.inode, waiting)
                    lane.inode = database.inode
                    changes.add(1, ordering: .releasing)
                } catch {
                    throw error.storeError
                }
                do throws(SQLiteFailure) {
                    return .success(try body(lane.connection))
                } catch {
                    throw error.storeError
                }
            } catch {
                if error == .busy { lane.busyUntil = Self.now + Self.busyPause }
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension StoredHead {
    /// The identifier as SQLite keeps it.
    fileprivate var tag: Int { Int(truncatingIfNeeded: identifier) }
}

extension ResponseVariant {
    /// What two variants differ in, as bytes.
    fileprivate var encoded: Data {
        Data(names.joined(separator: ",").utf8) + [0] + selection + [0] + (credentials.map { [1] + $0 } ?? [0])
    }
}
