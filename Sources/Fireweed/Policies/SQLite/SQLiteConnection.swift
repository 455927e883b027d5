// A connection to a database, and its statements.

#if SQLite
import CSQLite
import Dispatch
import FireweedTransport
import Foundation
import Glibc

/// Owns a connection and closes it; for one thread at a time.
final class SQLiteConnection: @unchecked Sendable {
    // SAFETY: its owner keeps it behind a lock; SQLite itself does not care which thread calls.
    private let handle: OpaquePointer
    private let path: String
    private let database: OpenDatabase
    private let busyWait = BusyWait()
    private var statements: [String: SQLiteStatement] = [:]

    /// Opens a file, or makes it for its owner only; throws `SQLiteFailure`.
    ///
    /// A call waits up to `busyMilliseconds` for a lock of another connection. `becomesPrivate` takes the permissions
    /// of other users away from a file that exists.
    init(path: String, busyMilliseconds: Int32, becomesPrivate: Bool = false) throws(SQLiteFailure) {
        BlockingCall.check("sqlite3_open_v2")
        try DatabaseFile(path: path).prepare(becomesPrivate: becomesPrivate)
        guard let database = OpenDatabase.adding(path: path) else {
            throw .cannotOpen(String(cString: strerror(errno)))
        }
        (self.path, self.database) = (path, database)
        if let spare = database.takeSpare(path: path) {
            handle = spare.handle
        } else {
            var opened: OpaquePointer?
            let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
            guard code == SQLITE_OK, let opened else {
                let failure = SQLiteFailure(code: code, reason: String(cString: sqlite3_errstr(code)))
                sqlite3_close_v2(opened)
                database.remove(nil, path: path)
                throw failure
            }
            handle = opened
        }
        sqlite3_extended_result_codes(handle, 1)
        wait(busyMilliseconds)
    }

    /// Sets how long to wait for a lock of another connection.
    func wait(_ milliseconds: Int32) {
        busyWait.milliseconds = milliseconds
        let context = Unmanaged.passUnretained(busyWait).toOpaque()  // lives as long as this connection
        sqlite3_busy_handler(
            handle, { context, count in BusyWait.pause(context, count) }, context)
    }

    /// Whether the open file is no longer at its path.
    var hasMoved: Bool {
        BlockingCall.check("stat")
        var hasMoved: Int32 = 0
        // SQLite compares inodes, so this check opens no second descriptor of the file.
        return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved) == SQLITE_OK && hasMoved != 0
    }

    /// Turns off the write-ahead logging of a former version, unless a program of that version has the file open:
    /// SQLite then still uses the log.
    func leaveWriteAheadLog() throws(SQLiteFailure) {
        let milliseconds = busyWait.milliseconds
        busyWait.milliseconds = 0
        defer { busyWait.milliseconds = milliseconds }
        do throws(SQLiteFailure) {
            try run("PRAGMA journal_mode = DELETE")
        } catch {
            guard error.isBusy else { throw error }
        }
    }

    deinit {
        statements = [:]  // finalised before their connection is closed
        sqlite3_busy_handler(handle, nil, nil)
        // Closing may wait for the disk, and the last owner may be released on an event loop's thread, which must not
        // wait.
        nonisolated(unsafe) let handle = handle  // SAFETY: nothing else uses the handle any more.
        let close = { @Sendable [path, database] in database.remove(handle, path: path) }
        if LoopThread.isCurrent { DispatchQueue.global(qos: .utility).async(execute: close) } else { close() }
    }

    /// Runs statements without results.
    func run(_ text: String) throws(SQLiteFailure) {
        BlockingCall.check("sqlite3_exec")
        try check(sqlite3_exec(handle, text, nil, nil, nil))
    }

    /// Returns the statement with this text, ready to be bound; it is compiled at the first call.
    func statement(_ text: String) throws(SQLiteFailure) -> SQLiteStatement {
        if let statement = statements[text] { return statement }
        var compiled: OpaquePointer?
        try check(sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil))
        guard let compiled else { throw SQLiteFailure(code: SQLITE_MISUSE, reason: "no statement") }
        let statement = SQLiteStatement(compiled, of: handle)
        statements[text] = statement
        return statement
    }

    /// Runs a statement without results.
    func run(_ text: String, _ values: SQLiteValue...) throws(SQLiteFailure) {
        try statement(text).rows(values) { (_: SQLiteStatement) throws(SQLiteFailure) in }
    }

    /// Runs a query; returns the number in the first column of its last row, or zero without a row.
    func number(_ text: String, _ values: SQLiteValue...) throws(SQLiteFailure) -> Int {
        var number = 0
        try statement(text).rows(values) { (row: SQLiteStatement) throws(SQLiteFailure) in number = row.number(0) }
        return number
    }

    /// Runs `body` as one transaction; other processes write before or after it.
    func transaction<Value>(_ body: () throws(SQLiteFailure) -> Value) throws(SQLiteFailure) -> Value {
        try transaction(beginning: "BEGIN IMMEDIATE", body)
    }

    /// Runs queries on a snapshot, which does not change when other connections write.
    func snapshot<Value>(_ body: () throws(SQLiteFailure) -> Value) throws(SQLiteFailure) -> Value {
        try transaction(beginning: "BEGIN", body)
    }

    private func transaction<Value>(
        beginning: String, _ body: () throws(SQLiteFailure) -> Value
    ) throws(SQLiteFailure) -> Value {
        try step(beginning)
        do throws(SQLiteFailure) {
            let value = try body()
            try step("COMMIT")
            return value
        } catch {
            try? step("ROLLBACK")  // after some errors SQLite has rolled back already
            throw error
        }
    }

    /// Runs a statement without values, which is compiled once.
    private func step(_ text: String) throws(SQLiteFailure) {
        try statement(text).rows([]) { (_: SQLiteStatement) throws(SQLiteFailure) in }
    }

    private func check(_ code: Int32) throws(SQLiteFailure) {
        guard code != SQLITE_OK else { return }
        throw SQLiteFailure(of: handle)
    }
}

/// Waits for a lock of another connection, in short pauses.
///
/// SQLite's own pauses grow to a tenth of a second, which is longer than locks are held, and longer than a reader
/// waits.
private final class BusyWait {
    var milliseconds: Int32 = 0
    /// When the present wait began.
    private var beginning = 0

    /// Called by SQLite after each try; returns whether to try again.
    static func pause(_ context: UnsafeMutableRawPointer?, _ count: Int32) -> Int32 {
        guard let context else { return 0 }
        let wait = Unmanaged<BusyWait>.fromOpaque(context).takeUnretainedValue()
        let now = BootClock.milliseconds
        if count == 0 { wait.beginning = now }
        guard now - wait.beginning < Int(wait.milliseconds) else { return 0 }
        usleep(.random(in: 100...500) * UInt32(min(count + 1, 10)))
        return 1
    }
}

/// The value of a placeholder (`?`) in a statement.
enum SQLiteValue {
    case number(Int)
    case text(String)
    case blob(Data)
}

/// Owns a compiled statement and finalises it.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let connection: OpaquePointer

    init(_ handle: OpaquePointer, of connection: OpaquePointer) {
        self.handle = handle
        self.connection = connection
    }

    deinit { sqlite3_finalize(handle) }

    /// Runs the statement with values for its placeholders, and calls `body` for each row.
    func rows(
        _ values: [SQLiteValue], _ body: (SQLiteStatement) throws(SQLiteFailure) -> Void
    ) throws(SQLiteFailure) {
        BlockingCall.check("sqlite3_step")
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        for (index, value) in values.enumerated() {
            guard bind(value, at: Int32(index + 1)) == SQLITE_OK else { throw failure }
        }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW: try body(self)
            case SQLITE_DONE: return
            default: throw failure
            }
        }
    }

    /// Returns a column of the present row as a number.
    func number(_ column: Int32) -> Int {
        Int(sqlite3_column_int64(handle, column))
    }

    /// Whether a column of the present row has no value.
    func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// Returns a column of the present row as text.
    func text(_ column: Int32) -> String {
        withBytes(column) { String(decoding: $0, as: UTF8.self) }
    }

    /// Calls `body` with the bytes in a column of the present row, which are valid during the call.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let bytes = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }

    private var failure: SQLiteFailure { SQLiteFailure(of: connection) }

    private func bind(_ value: SQLiteValue, at index: Int32) -> Int32 {
        switch value {
        case .number(let number): sqlite3_bind_int64(handle, index, Int64(number))
        case .text(let text): fw_sqlite_bind_text(handle, index, text, Int32(text.utf8.count))
        case .blob(let data):
            data.withUnsafeBytes { fw_sqlite_bind_blob(handle, index, $0.baseAddress, Int32($0.count)) }
        }
    }
}
#endif
