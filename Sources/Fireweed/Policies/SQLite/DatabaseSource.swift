// The location of a database, its opening, and the replacement of a damaged one.

#if SQLite
import FireweedTransport
import Foundation
import Glibc

/// Opens the file of a database, and replaces a damaged file by an empty one if its content is expendable.
///
/// A database has a lock file, `…-lock`, beside it, and a journal, `…-journal`, while something is written. Write-ahead
/// logging (`PRAGMA journal_mode = WAL`) is not used: connections to a moved file and to the file that replaced it
/// would share the log's index, since SQLite finds the index by the path.
struct DatabaseSource: Sendable {
    /// Makes tables and sets options on a new connection.
    typealias Preparation = @Sendable (SQLiteConnection, Waiting) throws(SQLiteFailure) -> Void

    /// How long a call waits for locks of other connections, in milliseconds.
    struct Waiting: Sendable, Equatable {
        /// The longest wait for a lock on the database.
        let milliseconds: Int32
        /// The longest wait for the lock file beside the database.
        let lockMilliseconds: Int
    }

    private let path: String
    private let replacesDamaged: Bool
    private let becomesPrivate: Bool
    private let prepare: Preparation

    /// How often opening is tried while other processes replace the file.
    static let tryCount = 3

    /// Makes a source for the file at a path; a symbolic link stands for its target.
    ///
    /// All paths to one file share one lock and one journal, except for hard links.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - replacesDamaged: whether a damaged file is renamed to `…-damaged` and replaced by an empty one.
    ///   - becomesPrivate: whether other users lose their permissions on a file that exists.
    ///   - prepare: called with each new connection.
    init(path: String, replacesDamaged: Bool, becomesPrivate: Bool = false, prepare: @escaping Preparation) {
        self.path = path
        self.replacesDamaged = replacesDamaged
        self.becomesPrivate = becomesPrivate
        self.prepare = prepare
    }

    /// The present path of the file, with symbolic links resolved.
    private var target: String {
        switch try? FileDestination(at: URL(fileURLWithPath: path)) {
        case .file(let target, _), .vacant(let target): target
        case .stream, nil: path
        }
    }

    /// Whether the path of this source, which may be a symbolic link, leads to `file` now.
    func leads(to file: String) -> Bool { path == file || target == file }

    /// Opens a connection to the file at the path, and makes the file if it is missing.
    func connect(_ waiting: Waiting) throws(SQLiteFailure) -> CheckedConnection {
        for _ in 0..<Self.tryCount {
            let target = target
            let seen = DatabaseIdentity(path: target)
            do throws(SQLiteFailure) {
                if let connection = try connect(to: target, waiting) { return connection }
            } catch  where error.isDamage {
                try replace(seen, after: error, waiting)
            } catch  where error.isUnopened && DatabaseIdentity(path: target) != seen {
                continue  // another process has just moved the file
            }
        }
        throw .busy  // the file was replaced during each try
    }

    /// Opens a connection under the lock, if the lock file can be used; `nil` when the database or the lock file was
    /// replaced during the call.
    private func connect(to path: String, _ waiting: Waiting) throws(SQLiteFailure) -> CheckedConnection? {
        guard let lock = try makeLock(path) else { return try makeConnection(path, nil, nil, waiting) }
        for kind in [FileLock.Kind.shared, .exclusive] {
            guard try Self.take(lock, kind, waiting) else { return try makeConnection(path, nil, nil, waiting) }
            defer { lock.release() }
            guard lock.isAtPath else { return nil }
            let identity: DatabaseIdentity?
            if kind == .exclusive {
                identity = try claim(path, lock)
            } else {
                // If the lock file names another file, a journal may belong to that file: the loop continues with the
                // exclusive lock.
                identity = DatabaseIdentity(path: path)
                guard identity != nil, lock.identity == identity else { continue }
            }
            return try makeConnection(path, identity, lock, waiting)
        }
        return nil
    }

    /// Opens a file while the caller holds the lock that names the file; `nil` if another file is now at the path.
    private func makeConnection(
        _ path: String, _ expected: DatabaseIdentity?, _ lock: DatabaseLock?, _ waiting: Waiting
    ) throws(SQLiteFailure) -> CheckedConnection? {
        let connection = try SQLiteConnection(
            path: path, busyMilliseconds: waiting.milliseconds, becomesPrivate: becomesPrivate)
        // The identity is checked after the file is opened, which changes it on an overlay file system, and before the
        // first statement, which would use a journal.
        guard let identity = DatabaseIdentity(path: path), !connection.hasMoved else { return nil }
        guard expected == nil || identity == expected else { return nil }
        try prepare(connection, waiting)
        return CheckedConnection(connection: connection, path: path, identity: identity, lock: lock)
    }

    private func makeLock(_ path: String) throws(SQLiteFailure) -> DatabaseLock? {
        do throws(DatabaseLock.Failure) {
            return try DatabaseLock(besideDatabaseAt: path)
        } catch {
            // The lock file beside another user's database may be unusable: the database is then used without a lock.
            guard error == .unusable else { throw .busy }
            return nil
        }
    }

    /// Takes a lock; false if the lock file cannot be used, and `.busy` is thrown if another process keeps the lock.
    static func take(_ lock: DatabaseLock, _ kind: FileLock.Kind, _ waiting: Waiting) throws(SQLiteFailure) -> Bool {
        do throws(DatabaseLock.Failure) {
            try lock.take(kind, waitingMilliseconds: waiting.lockMilliseconds)
            return true
        } catch {
            guard error == .unusable else { throw .busy }
            return false
        }
    }

    // MARK: Journals

    /// The suffixes of a journal, and of the log and the index that former versions made.
    private static let companions = ["-journal", "-wal", "-shm"]

    /// Writes the identity of the file at the path into the lock file, which the caller holds exclusively; makes a
    /// missing file.
    ///
    /// When a process was killed and its file is then replaced by rename(2), the journal stays in place, and SQLite
    /// would write the old file's pages into the new file. Therefore a journal of another file is removed or renamed.
    /// If nothing shows which file the journal belongs to, the file and the journal are set aside, if the content is
    /// expendable.
    private func claim(_ path: String, _ lock: DatabaseLock) throws(SQLiteFailure) -> DatabaseIdentity {
        let (present, known) = (DatabaseIdentity(path: path), lock.identity)
        if let present, present == known { return present }
        if present == nil || known != nil {
            for companion in Self.companions { removeCompanion(path + companion) }
        } else if replacesDamaged, FileManager.default.fileExists(atPath: path + "-journal") {
            try checkUnused(path)
            try setAside(path)
        }
        try DatabaseFile(path: path).prepare(becomesPrivate: false)
        guard let identity = DatabaseIdentity(path: path) else { throw .busy }
        guard lock.note(identity) else { throw .full }
        return identity
    }

    /// Sets aside a journal, log or index of an earlier database at this path: removes it if its content is expendable,
    /// otherwise renames it to `…-other`, and removes it if the renaming fails.
    private func removeCompanion(_ companion: String) {
        if replacesDamaged || rename(companion, "\(companion)-other") != 0 { unlink(companion) }
    }

    /// Throws `.busy` if a connection is in the middle of a change: the journal then belongs to this change.
    private func checkUnused(_ path: String) throws(SQLiteFailure) {
        do throws(SQLiteFailure) {
            try SQLiteConnection(path: path, busyMilliseconds: 0).run("BEGIN IMMEDIATE; COMMIT")
        } catch  where error.isBusy {
            throw error
        } catch {}
    }

    // MARK: Damage

    /// Renames a damaged database to `…-damaged`, so that the next connection makes an empty one; throws `error` if
    /// this source does not replace databases.
    ///
    /// The exclusive lock keeps two processes that find the damage at the same time from renaming each other's new
    /// file. A reader does not wait until other uses end: it throws `.busy`.
    func replace(
        _ damaged: DatabaseIdentity?, after error: SQLiteFailure, _ waiting: Waiting
    ) throws(SQLiteFailure) {
        guard replacesDamaged else { throw error }
        let path = target
        guard let lock = try makeLock(path) else { throw .irreplaceable }
        // Clears the identity, so that each new use needs the exclusive lock and waits: otherwise uses that overlap
        // could share the lock for ever.
        if waiting.lockMilliseconds > 0 { _ = lock.note(nil) }
        guard try Self.take(lock, .exclusive, waiting) else { throw .irreplaceable }
        defer { lock.release() }
        guard lock.isAtPath, let damaged, DatabaseIdentity(path: path) == damaged else { return }
        try setAside(path)
    }

    /// Renames the damaged file for inspection.
    ///
    /// An older database with the name `…-damaged` is removed. A file that is not a database stays, since it may be a
    /// document whose path was given by mistake: the damaged file then gets the next free name.
    private func setAside(_ path: String) throws(SQLiteFailure) {
        let names = (1...).lazy.map { $0 == 1 ? "\(path)-damaged" : "\(path)-damaged-\($0)" }
        guard let aside = names.first(where: { !Self.isForeign($0) }), rename(path, aside) == 0 else {
            throw .irreplaceable
        }
        for companion in Self.companions where rename(path + companion, aside + companion) != 0 {
            unlink(path + companion)
            unlink(aside + companion)
        }
    }

    /// Whether something other than a database is at the path; a damaged database counts as a database.
    private static func isForeign(_ path: String) -> Bool {
        BlockingCall.check("lstat")
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFREG else { return true }
        do throws(SQLiteFailure) {
            _ = try SQLiteConnection(path: path, busyMilliseconds: 0).number("PRAGMA schema_version")
            return false
        } catch {
            return !error.isDamage || error.isOfForeignFile
        }
    }
}
#endif
