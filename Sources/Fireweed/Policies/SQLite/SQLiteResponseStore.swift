// Stored responses in a SQLite database.

#if SQLite
import CLinux
import Dispatch
import FireweedTransport
public import Foundation
import Glibc
import Synchronization

/// Stores responses in a file, which any number of processes may share.
///
/// A response is stored as a whole or not at all, even if a process is killed while it writes. When the responses
/// exceed the limit, or one URL has more than 128 responses, the least recently used ones are removed. The file, which
/// only its owner can read, grows to a little more than the limit. Beside it are a small lock file and, during a write,
/// a journal.
///
/// A damaged database is renamed to `…-damaged` and replaced by an empty one: damaged content never answers a request.
/// This also happens when only one row is damaged: a cache can be filled again, and further damage might not be
/// noticed. An older database with that name is removed. Another file with that name is kept: the damaged database then
/// gets the next free name (`…-damaged-2`).
///
/// ```swift
/// let session = Session(options: SessionOptions(responseStore: try SQLiteResponseStore(url: folder.appending(path: "responses.sqlite"))))
/// ```
public final class SQLiteResponseStore: ResponseStore, @unchecked Sendable {
    // SAFETY: each connection is used only under its own lock.
    private let reader: Mutex<FollowedDatabase>
    private let writer: Mutex<FollowedDatabase>
    private let path: String
    /// The times at which responses were used, by row, until they are written.
    private let uses = Mutex<[Int: Int]>([:])
    /// The queue on which uses are written, so that a look-up does not wait for the write.
    private let useQueue = DispatchQueue(label: "fireweed.sqlite.uses", qos: .utility)

    /// The most bytes that the responses may have together.
    public let maximumByteCount: Int
    /// Whether a stored response answers only requests with the same cookies.
    public let separatesCookies: Bool

    /// How many uses are collected before they are written.
    private static let useLimit = 256
    /// Contents up to this size are read together with the head.
    private static let smallContent = 64 * 1024
    /// The most responses of one URL, which differ by `Vary`, user or cookies; each look-up reads the heads of all.
    static let variantLimit = 128

    /// Opens a store, or makes one.
    ///
    /// Missing folders above the file are made, readable by their owner only.
    ///
    /// - Parameters:
    ///   - url: the file.
    ///   - maximumByteCount: how many bytes the responses may have together, at least 64 KiB; 100 MiB by default. Each
    ///     of several processes enforces its own limit when it stores.
    ///   - separatesCookies: whether a stored response answers only requests with the same cookies; true by default.
    ///     False is for a store that has one user (see ``ResponseStore/separatesCookies``).
    /// - Throws: ``ResponseStoreError`` when the file cannot be opened or made.
    public init(url: URL, maximumByteCount: Int = 100 << 20, separatesCookies: Bool = true) throws {
        let source = StoreDatabase.source(path: url.path)
        path = url.path
        self.maximumByteCount = max(64 << 10, maximumByteCount)
        self.separatesCookies = separatesCookies
        let folder = url.deletingLastPathComponent()
        if !FileManager.default.fileExists(atPath: folder.path) {
            // If this fails, opening the file reports the reason.
            try? FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        do throws(SQLiteFailure) {
            writer = Mutex(try FollowedDatabase(source, waiting: StoreDatabase.writing))
            reader = Mutex(try FollowedDatabase(source, waiting: StoreDatabase.reading))
        } catch {
            throw error.storeError(at: url.path)
        }
    }

    deinit {
        // Writes the collected uses. The store may be released on an event loop's thread, which must not wait: the
        // write then runs on a queue. The write itself waits only for a short time.
        let noted = uses.withLock { $0 }
        guard !noted.isEmpty else { return }
        let database = writer.withLock { $0 }
        let write = { @Sendable in
            var database = database
            database.wait(StoreDatabase.reading)
            try? database.use { (connection: SQLiteConnection) throws(SQLiteFailure) in
                try connection.transaction { () throws(SQLiteFailure) in try Self.write(noted, connection) }
            }
        }
        if LoopThread.isCurrent { useQueue.async(execute: write) } else { write() }
    }

    /// The most bytes that one response may have: an eighth of the limit.
    public var maximumEntryByteCount: Int { maximumByteCount / 8 }

    /// How many bytes the stored responses have together.
    public var byteCount: Int {
        get throws {
            try read { (connection: SQLiteConnection) throws(SQLiteFailure) in
                try connection.number("SELECT byte_count FROM \(StoreDatabase.totals)")
            }
        }
    }

    // MARK: The store

    /// Reads one response; a small response takes a single query.
    public func response(for key: String, choosing choose: ([StoredHead]) -> Int?) throws -> StoredResponse? {
        let found = try read { (connection: SQLiteConnection) throws(SQLiteFailure) -> (Row, Data)? in
            // A large content is read by a second query; the snapshot makes the head and the content match.
            try connection.snapshot { () throws(SQLiteFailure) in
                let rows = try Self.rows(of: key, connection)
                guard let index = choose(rows.map(\.head)), rows.indices.contains(index) else { return nil }
                let row = rows[index]
                if let content = row.content { return (row, content) }
                return (row, try Self.content(of: row, connection))
            }
        }
        guard let (row, content) = found else { return nil }
        noteUse(of: row.number)
        return StoredResponse(head: row.head, content: content)
    }

    /// Stores one response, and removes others when the limit is exceeded.
    public func store(_ response: StoredResponse, for key: String) throws {
        guard response.byteCount <= maximumEntryByteCount else { return try removeResponses(for: key) }
        let (head, variant) = (response.head.encoded, response.head.variant.encoded)
        let size = Self.size(of: key, head, response.content)
        try write { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run(
                "DELETE FROM \(StoreDatabase.responses) WHERE key = ? AND variant = ?", .text(key), .blob(variant))
            try connection.run(
                """
                INSERT INTO \(StoreDatabase.responses) (key, variant, tag, head, head_check, content_check, byte_count, used_at, content)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                .text(key), .blob(variant), .number(response.head.tag), .blob(head),
                .number(RowCheck.head(head, of: key)), .number(RowCheck.content(response.content)), .number(size),
                .number(Self.now), .blob(response.content))
            try limitVariants(of: key, connection)
            try evict(connection)
        }
    }

    /// Replaces the head of a stored response, unless the response has been replaced.
    public func updateHead(_ head: StoredHead, for key: String) throws {
        let encoded = head.encoded
        try write { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run(
                "UPDATE \(StoreDatabase.responses) SET head = ?, head_check = ?, used_at = ? WHERE key = ? AND tag = ?",
                .blob(encoded),
                .number(RowCheck.head(encoded, of: key)), .number(Self.now), .text(key), .number(head.tag))
        }
    }

    /// Removes all variants of a key.
    public func removeResponses(for key: String) throws {
        try write { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run("DELETE FROM \(StoreDatabase.responses) WHERE key = ?", .text(key))
        }
    }

    /// Removes all responses; the file keeps its size, and its space is reused.
    public func removeAllResponses() throws {
        try write { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run("DELETE FROM \(StoreDatabase.responses)")
        }
    }

    // MARK: Reading

    private struct Row {
        var number: Int
        var head: StoredHead
        /// The content; `nil` when the content is large, or the key has several responses.
        var content: Data?
    }

    /// The query for the rows of a key; the index only finds the rows, and all columns, including the key, are read
    /// from the rows.
    ///
    /// Otherwise SQLite would read the key from the index, and a damaged index could yield the response of another key.
    ///
    /// The content is read here if it is small, and the key has only one response.
    private static let rowQuery = """
        SELECT row.key, row.tag, row.head, row.head_check, row.content_check,
            CASE WHEN length(row.content) <= \(smallContent)
                AND (SELECT count(*) FROM \(StoreDatabase.responses) WHERE key = ?1) = 1 THEN row.content END,
            row.rowid
        FROM \(StoreDatabase.responses) AS entry CROSS JOIN \(StoreDatabase.responses) AS row ON row.rowid = entry.rowid
        WHERE entry.key = ?1
        """

    /// Reads the variants of a key, the last one stored first; throws if a row is damaged or belongs to another key.
    private static func rows(of key: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> [Row] {
        var rows: [Row] = []
        try connection.statement(rowQuery).rows([.text(key)]) { (row: SQLiteStatement) throws(SQLiteFailure) in
            guard row.text(0) == key, row.withBytes(2, { RowCheck.head($0, of: key) }) == row.number(3),
                let head = row.withBytes(2, { StoredHead(encoded: $0) }), head.tag == row.number(1)
            else { throw .damagedRow }
            let content = try row.isNull(5) ? nil : Self.content(in: 5, check: row.number(4), of: row)
            rows.append(Row(number: row.number(6), head: head, content: content))
        }
        // The rows are sorted here, since the query would make a temporary table even for a single row.
        if rows.count > 1 { rows.sort { $0.number > $1.number } }
        return rows
    }

    private static let contentQuery = """
        SELECT content, content_check FROM \(StoreDatabase.responses) WHERE rowid = ? AND tag = ?
        """

    /// Reads the content of a row whose head was read in the same snapshot.
    private static func content(of row: Row, _ connection: SQLiteConnection) throws(SQLiteFailure) -> Data {
        var found: Data?
        try connection.statement(contentQuery).rows([.number(row.number), .number(row.head.tag)]) {
            (row: SQLiteStatement) throws(SQLiteFailure) in found = try content(in: 0, check: row.number(1), of: row)
        }
        guard let found else { throw .damagedRow }
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

    /// Removes the least recently used responses of a key that has too many.
    private func limitVariants(of key: String, _ connection: SQLiteConnection) throws(SQLiteFailure) {
        let responses = StoreDatabase.responses
        guard
            try connection.number("SELECT count(*) FROM \(responses) WHERE key = ?", .text(key)) > Self.variantLimit
        else { return }
        try connection.run(
            """
            DELETE FROM \(responses) WHERE rowid IN (
                SELECT rowid FROM \(responses) WHERE key = ? ORDER BY used_at DESC, rowid DESC LIMIT -1 OFFSET ?)
            """, .text(key), .number(Self.variantLimit))
    }

    /// Removes the least recently used responses until the rest is within the limit.
    private func evict(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        while try connection.number("SELECT byte_count FROM \(StoreDatabase.totals)") > maximumByteCount {
            let oldest = try connection.number(
                "SELECT rowid FROM \(StoreDatabase.responses) ORDER BY used_at, rowid LIMIT 1")
            guard oldest != 0 else { throw .damagedRow }  // without rows, the total would be zero
            try connection.run("DELETE FROM \(StoreDatabase.responses) WHERE rowid = ?", .number(oldest))
        }
    }

    /// Estimates how many bytes a row takes in the file: a large row takes whole pages.
    private static func size(of key: String, _ head: Data, _ content: Data) -> Int {
        let bytes = 2 * key.utf8.count + head.count + content.count + 160
        return bytes <= 1024 ? bytes : (bytes + 4095) / 4096 * 4096
    }

    /// Records a use; writes all uses once there are many.
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
        try Self.write(noted, connection)
    }

    private static func write(_ noted: [Int: Int], _ connection: SQLiteConnection) throws(SQLiteFailure) {
        // If a row was replaced since its use, another row may have its number and is marked as used: this does no
        // harm.
        for (row, time) in noted {
            try connection.run(
                "UPDATE \(StoreDatabase.responses) SET used_at = ? WHERE rowid = ?", .number(time), .number(row))
        }
    }

    /// Nanoseconds since 1970.
    private static var now: Int {
        Int(WallClock.nanoseconds)
    }

    // MARK: Connections

    private func read<Value>(
        _ body: (SQLiteConnection) throws(SQLiteFailure) -> Value
    ) throws(ResponseStoreError) -> Value {
        try use(reader, body)
    }

    /// Runs a transaction, which also writes the collected uses.
    private func write(_ body: (SQLiteConnection) throws(SQLiteFailure) -> Void) throws(ResponseStoreError) {
        try use(writer) { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.transaction { () throws(SQLiteFailure) in
                try writeUses(connection)
                try body(connection)
            }
        }
    }

    private func use<Value>(
        _ database: borrowing Mutex<FollowedDatabase>, _ body: (SQLiteConnection) throws(SQLiteFailure) -> Value
    ) throws(ResponseStoreError) -> Value {
        // The closure does not return `result`, since the mutex requires a sendable value.
        var result = Result<Value, SQLiteFailure>.failure(.busy)
        database.withLock { database in
            result = Result { () throws(SQLiteFailure) in try database.use(body) }
        }
        return try result.mapError { $0.storeError(at: path) }.get()
    }
}

extension StoredHead {
    /// The identifier as a number that SQLite can store.
    fileprivate var tag: Int { Int(truncatingIfNeeded: identifier) }
}

extension ResponseVariant {
    /// The variant as bytes: two variants are the same when their bytes are.
    fileprivate var encoded: Data {
        Data(names.joined(separator: ",").utf8) + [0] + selection + [0] + (credentials.map { [1] + $0 } ?? [0])
    }
}
#endif
