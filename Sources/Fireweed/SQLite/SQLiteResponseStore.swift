// Stored responses in a SQLite database.

import CLinux
import FireweedTransport
public import Foundation
import Glibc
import Synchronization

/// Keeps responses in a file, which any number of processes may share.
///
/// A response is there whole or not at all, even if a process is killed while it writes. When the bound is exceeded, the responses
/// that were not used for the longest time go. The file, which is readable by its owner alone, grows to a little more than the
/// bound; beside it there is a log of some megabytes while it is in use. A damaged database is replaced by an empty one.
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
    private let changes = Atomic(0)

    /// How many bytes the responses may have together.
    public let maximumByteCount: Int

    /// A connection, and the file that it is open on.
    private struct Lane {
        var connection: SQLiteConnection
        var inode: UInt
        /// When it was found to be the right file still, in nanoseconds since 1970.
        var checkedAt = 0
        /// How often another connection of ours had found a new file until then.
        var changes = 0
    }

    /// Nanoseconds for which a reader takes the file for the right one: asking costs a tenth of a look.
    private static let readerTrust = 100_000_000
    /// So many uses are gathered before they are written.
    private static let useLimit = 256
    /// Contents up to this size are read together with the head.
    private static let smallContent = 64 * 1024

    /// Opens a store, or makes one.
    ///
    /// Throws `ResponseStoreError` when the file cannot be opened or made; its folder has to exist.
    ///
    /// - Parameters:
    ///   - url: the file.
    ///   - maximumByteCount: how many bytes the responses may have together, at least 64 KiB; 100 MiB unless said otherwise. Of
    ///     several processes, each keeps to its own bound when it stores.
    public init(url: URL, maximumByteCount: Int = 100 << 20) throws {
        database = StoreDatabase(path: url.path)
        self.maximumByteCount = max(64 << 10, maximumByteCount)
        writer = Mutex(try Self.lane(database))
        reader = Mutex(try Self.lane(database))
    }

    deinit {
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
            return try Self.content(of: row.head, key, connection).map { (row, $0) }
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
                "INSERT INTO responses (key, variant, tag, head, byte_count, used_at, content) VALUES (?, ?, ?, ?, ?, ?, ?)",
                .text(key), .blob(variant), .number(response.head.tag), .blob(head), .number(size),
                .number(Self.now), .blob(response.content))
            try evict(connection)
        }
    }

    /// Stores another head for a content, unless that has been replaced meanwhile.
    public func updateHead(_ head: StoredHead, for key: String) throws {
        let encoded = head.encoded
        try write { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.run(
                "UPDATE responses SET head = ?, used_at = ? WHERE key = ? AND tag = ?", .blob(encoded),
                .number(Self.now), .text(key), .number(head.tag))
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

    /// The variants of a key, the last one stored first; what cannot be read is left out.
    private static func rows(of key: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> [Row] {
        var rows: [Row] = []
        let query = "SELECT head, length(content), content, rowid FROM responses WHERE key = ?"
        try connection.statement(query).rows([.text(key)]) { (row: SQLiteStatement) throws(SQLiteFailure) in
            guard let head = row.withBytes(0, { StoredHead(encoded: $0) }) else { return }
            let isSmall = row.number(1) <= smallContent
            let content = isSmall ? row.withBytes(2) { Data($0) } : nil
            rows.append(Row(number: row.number(3), head: head, content: content))
        }
        // Not by the query: it would sort in a table of its own, even one row.
        if rows.count > 1 { rows.sort { $0.number > $1.number } }
        return rows
    }

    /// The content that belongs to a head; `nil` when it has been replaced since the head was read.
    private static func content(
        of head: StoredHead, _ key: String, _ connection: SQLiteConnection
    ) throws(SQLiteFailure) -> Data? {
        var content: Data?
        let query = "SELECT content FROM responses WHERE key = ? AND tag = ?"
        try connection.statement(query).rows([.text(key), .number(head.tag)]) {
            (row: SQLiteStatement) throws(SQLiteFailure) in content = row.withBytes(0) { Data($0) }
        }
        return content
    }

    // MARK: Bounds

    /// Removes what was not used for the longest time until the rest is within the bound.
    private func evict(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        while try connection.number("SELECT byte_count FROM totals") > maximumByteCount {
            let oldest = try connection.number("SELECT rowid FROM responses ORDER BY used_at, rowid LIMIT 1")
            guard oldest != 0 else { return }
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
            uses[row] = Self.now
            return uses.count >= Self.useLimit
        }
        if isMuch { try? write { (_: SQLiteConnection) throws(SQLiteFailure) in } }
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

    private static func lane(_ database: StoreDatabase) throws(ResponseStoreError) -> Lane {
        let connection = try database.open()
        return Lane(connection: connection, inode: database.inode)
    }

    private func read<Value>(
        _ body: (SQLiteConnection) throws(SQLiteFailure) -> Value
    ) throws(ResponseStoreError) -> Value {
        try use(reader, trust: Self.readerTrust, body)
    }

    /// A transaction, with the uses that wait to be written.
    private func write(_ body: (SQLiteConnection) throws(SQLiteFailure) -> Void) throws(ResponseStoreError) {
        try use(writer, trust: 0) { (connection: SQLiteConnection) throws(SQLiteFailure) in
            try connection.transaction { () throws(SQLiteFailure) in
                try writeUses(connection)
                try body(connection)
            }
        }
    }

    /// Opens the file anew when another process has put an empty database in the place of a damaged one.
    private func check(_ lane: inout Lane, trust: Int) throws(ResponseStoreError) {
        let (now, changes) = (Self.now, changes.load(ordering: .acquiring))
        let isTrusted = lane.changes == changes && now >= lane.checkedAt && now - lane.checkedAt < trust
        guard !isTrusted else { return }
        if lane.inode != database.inode {
            lane = try Self.lane(database)
            self.changes.add(1, ordering: .releasing)
        }
        lane.checkedAt = now
        lane.changes = changes
    }

    /// Uses a connection; after damage once more, on an empty database.
    private func use<Value>(
        _ lane: borrowing Mutex<Lane>, trust: Int, _ body: (SQLiteConnection) throws(SQLiteFailure) -> Value
    ) throws(ResponseStoreError) -> Value {
        let result = lane.withLock { lane -> Result<Value, ResponseStoreError> in
            do throws(ResponseStoreError) {
                try check(&lane, trust: trust)
                do throws(SQLiteFailure) {
                    return .success(try body(lane.connection))
                } catch  where error.isDamage {
                    lane.connection = try database.reopenAfterDamage()
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
