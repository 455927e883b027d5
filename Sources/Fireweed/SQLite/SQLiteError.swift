// What SQLite says went wrong.

import CSQLite

/// Why a store's database could not be used.
///
/// Only `SQLiteResponseStore.init` and the store's own methods throw it; a session takes the cache for empty then.
public enum ResponseStoreError: Error, Sendable, Equatable {
    /// The file cannot be opened or made; the text is SQLite's or the system's.
    case cannotOpen(path: String, reason: String)
    /// Another process kept the database locked: for 50 milliseconds when reading, for 5 seconds when writing.
    ///
    /// For a second after that, calls of the same kind throw it without waiting.
    case busy
    /// The file was no database, or a damaged one, and could not be replaced by an empty one.
    case damaged(path: String)
    /// Anything else: the disk is full, say; SQLite's number and text.
    case failed(code: Int, reason: String)
}

/// A result code that is not success.
struct SQLiteFailure: Error {
    /// A row that contradicts itself, or belongs to another key: what SQLite has not noticed.
    static let damagedRow = SQLiteFailure(code: SQLITE_CORRUPT, reason: "a row is damaged")

    let code: Int32
    let reason: String

    // `SQLITE_IOERR_SHORT_READ`, a sum that Swift does not import.
    private static let shortRead: Int32 = 10 | (2 << 8)

    /// True when the file is no database, or a damaged one.
    var isDamage: Bool {
        [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT].contains(code & 0xFF) || code == Self.shortRead
    }

    /// The error as users see it.
    var storeError: ResponseStoreError {
        code & 0xFF == SQLITE_BUSY ? .busy : .failed(code: Int(code), reason: reason)
    }
}
