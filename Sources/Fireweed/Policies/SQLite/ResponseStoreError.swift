// Errors of a store in an SQLite file.

#if SQLite
import CSQLite
import Glibc

/// Why a store's database could not be used.
///
/// `SQLiteResponseStore.init` and the store's methods throw this error; a session then works as with an empty cache.
public enum ResponseStoreError: Error, Sendable, Equatable {
    /// The file cannot be opened or made; the text is SQLite's or the system's.
    case cannotOpen(path: String, reason: String)
    /// Another process kept the database locked: for 50 milliseconds when reading, for 5 seconds when writing.
    ///
    /// For a second after that, calls of the same kind throw this error without waiting.
    case busy
    /// The file was not a database, or was damaged, and could not be replaced by an empty database.
    case damaged(path: String)
    /// Another failure, for instance a full disk; with SQLite's number and text.
    case failed(code: Int, reason: String)
}

/// A failure of SQLite or of a database's file: SQLite's result code, and the reason.
struct SQLiteFailure: Error {
    /// A row that contradicts itself, or belongs to another key; SQLite does not notice this.
    static let damagedRow = SQLiteFailure(code: SQLITE_CORRUPT, reason: "a row is damaged")

    /// The database cannot be used now, usually because another connection holds a lock.
    static let busy = SQLiteFailure(code: SQLITE_BUSY, reason: "database is locked")

    /// A disk without space for the lock file.
    static let full = SQLiteFailure(code: SQLITE_FULL, reason: "database or disk is full")

    /// A damaged file that could not be replaced by an empty one.
    static let irreplaceable = SQLiteFailure(
        code: SQLITE_NOTADB, reason: "the file is damaged, or is no database, and could not be replaced")

    /// Returns the failure for a file that cannot be opened or made.
    static func cannotOpen(_ reason: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_CANTOPEN, reason: reason) }

    let code: Int32
    let reason: String

    init(code: Int32, reason: String) { (self.code, self.reason) = (code, reason) }

    /// The failure of the last call of a connection; for an I/O error, the reason includes the system's error.
    init(of connection: OpaquePointer) {
        code = sqlite3_extended_errcode(connection)
        let text = String(cString: sqlite3_errmsg(connection))
        let error = code & 0xFF == SQLITE_IOERR ? sqlite3_system_errno(connection) : 0
        reason = error == 0 ? text : "\(text): \(String(cString: strerror(error)))"
    }

    // `SQLITE_IOERR_SHORT_READ`, a macro that Swift cannot import, since it is an expression.
    private static let shortRead: Int32 = 10 | (2 << 8)

    /// Whether the file is not a database, or is damaged.
    var isDamage: Bool {
        [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT].contains(code & 0xFF) || code == Self.shortRead
    }

    // `SQLITE_READONLY_DBMOVED` and `SQLITE_IOERR_DELETE_NOENT`, macros that Swift cannot import, since they are
    // expressions.
    private static let movedCodes: [Int32] = [8 | (4 << 8), 10 | (23 << 8)]

    /// Whether the file, or its journal, was moved away during a use.
    var isOfMovedFile: Bool { Self.movedCodes.contains(code) }

    /// Whether the file is not a database.
    var isOfForeignFile: Bool { code & 0xFF == SQLITE_NOTADB }

    /// Whether another connection kept a lock for longer than the wait.
    var isBusy: Bool { code & 0xFF == SQLITE_BUSY }

    /// Whether the file cannot be opened, or made.
    var isUnopened: Bool { code & 0xFF == SQLITE_CANTOPEN }

    /// Returns the public error for a response store at a path.
    func storeError(at path: String) -> ResponseStoreError {
        if isUnopened { return .cannotOpen(path: path, reason: reason) }
        return isDamage ? .damaged(path: path) : storeError
    }

    /// The public error: `.busy`, or `.failed` for any other failure.
    var storeError: ResponseStoreError {
        isBusy ? .busy : .failed(code: Int(code), reason: reason)
    }
}
#endif
