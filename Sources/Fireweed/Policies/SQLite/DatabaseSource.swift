// The location of a database, its opening, and the replacement of a damaged one.

#if SQLite
import FireweedTransport
import Foundation
import Glibc

/// Opens the file of a database, and replaces a damaged file by an empty one where its content may be lost.
///
/// A database has a lock file, `…-lock`, beside it, and a journal, `…-journal`, while something is written. There is no
/// log in front of the file (`PRAGMA journal_mode = WAL`): connections to a file that was moved, and to the one that
/// has its place, would share that log's index, which belongs to a path.
struct DatabaseSource: Sendable {
    /// Makes tables and sets options on a new connection.
    typealias Preparation = @Sendable (SQLiteConnection, Waiting) throws(SQLiteFailure) -> Void

    /// How long a call waits for locks of other connections, in milliseconds.
    struct Waiting: Sendable, Equatable {
        /// The longest wait for a lock on the database.
        let milliseconds: Int32
        /// The longest wait for the lock beside the database.
        let lockMilliseconds: Int
    }

    private let path: String
    private let replacesDamaged: Bool
    private let becomesPrivate: Bool
    private let prepare: Preparation

    /// How often a file is opened that is replaced meanwhile.
    static let tryCount = 3

    /// Takes the path of the file; that of a symbolic link stands for its target.
    ///
    /// Of several paths to one file, all have one lock, and the same journal. Two hard links of a file have not.
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

    /// The path of the file itself, now.
    private var target: String {
        switch try? FileDestination(at: URL(fileURLWithPath: path)) {
        case .file(let target, _), .vacant(let target): target
        case .stream, nil: path
        }
    }

    /// A connection to the file that is at the path, or to a new one.
    func connect(_ waiting: Waiting) throws(SQLiteFailure) -> CheckedConnection {
        for _ in 0..<Self.tryCount {
            let target = target
            let seen = DatabaseIdentity(path: target)
            do throws(SQLiteFailure) {
                if let connection = try connect(to: target, waiting) { return connection }
            } catch  where error.isDamage {
                try replace(seen, after: error, waiting)
            }
        }
        throw .busy  // replaced all the time
    }

    /// `nil` where the file, or the lock, was replaced meanwhile.
    private func connect(to path: String, _ waiting: Waiting) throws(SQLiteFailure) -> CheckedConnection? {
        guard let lock = try makeLock(path) else { return try makeConnection(path, nil, waiting) }
        for kind in [FileLock.Kind.shared, .exclusive] {
            guard try Self.take(lock, kind, waiting) else { return try makeConnection(path, nil, waiting) }
            defer { lock.release() }
            guard lock.isAtPath else { return nil }
            if kind == .exclusive {
                try claimJournal(of: path, lock)
            } else {
                // The journal there may be another file's.
                guard let present = DatabaseIdentity(path: path), lock.identity == present else { continue }
            }
            return try makeConnection(path, lock, waiting)
        }
        return nil
    }

    /// Opens the file while the lock is held, and names it in the lock file.
    private func makeConnection(
        _ path: String, _ lock: DatabaseLock?, _ waiting: Waiting
    ) throws(SQLiteFailure) -> CheckedConnection? {
        let connection = try SQLiteConnection(
            path: path, busyMilliseconds: waiting.milliseconds, becomesPrivate: becomesPrivate)
        // On an overlay the file has got its identity by being opened.
        guard let identity = DatabaseIdentity(path: path), !connection.hasMoved else { return nil }
        // Before the first statement, which would use a journal.
        if let lock, lock.identity != identity, !lock.note(identity) { throw .full }
        try prepare(connection, waiting)
        return CheckedConnection(connection: connection, path: path, identity: identity, lock: lock)
    }

    private func makeLock(_ path: String) throws(SQLiteFailure) -> DatabaseLock? {
        do throws(DatabaseLock.Failure) {
            return try DatabaseLock(besideDatabaseAt: path)
        } catch {
            // A database of another user can be used without its lock file.
            guard error == .unusable else { throw .busy }
            return nil
        }
    }

    /// Takes a lock; false where it cannot be used.
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

    /// The ends of the names of a journal, and of the log and the index that former versions made.
    private static let companions = ["-journal", "-wal", "-shm"]

    /// Removes a journal that is not the one of the file at the path; who calls this holds the lock alone.
    ///
    /// A file that is replaced by rename(2) leaves its journal in place where its process was killed, and SQLite would
    /// write the old file's pages into the new one. Where nothing says whose journal it is, it goes away with the
    /// file, if the content may be lost.
    private func claimJournal(of path: String, _ lock: DatabaseLock) throws(SQLiteFailure) {
        let (present, known) = (DatabaseIdentity(path: path), lock.identity)
        guard present == nil || present != known else { return }
        let found = Self.companions.map { path + $0 }.filter { FileManager.default.fileExists(atPath: $0) }
        if present == nil || known != nil {
            for companion in found { unlink(companion) }
        } else if replacesDamaged, !found.isEmpty {
            try setAside(path)
        }
    }

    // MARK: Damage

    /// Renames a damaged database to `…-damaged`, and makes an empty one; throws `error` where that is not wanted.
    ///
    /// Two processes that find the damage at once must not rename each other's new file. A reader does not wait for the
    /// uses under way: it throws `.busy`.
    func replace(
        _ damaged: DatabaseIdentity?, after error: SQLiteFailure, _ waiting: Waiting
    ) throws(SQLiteFailure) {
        guard replacesDamaged else { throw error }
        let path = target
        guard let lock = try makeLock(path) else { throw .irreplaceable }
        // A use that begins now finds that its file is not the named one, and waits: others cannot hold the lock for
        // ever, one after the other.
        if waiting.lockMilliseconds > 0 { _ = lock.note(nil) }
        guard try Self.take(lock, .exclusive, waiting) else { throw .irreplaceable }
        defer { lock.release() }
        guard lock.isAtPath, let damaged, DatabaseIdentity(path: path) == damaged else { return }
        try setAside(path)
    }

    /// Renames the damaged file for inspection.
    ///
    /// An older database there is removed. A file that is no database stays, since it may be a document whose path was
    /// given by mistake: the new one gets the next free name.
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

    /// Whether there is something else than a database, damaged or not, at the path.
    private static func isForeign(_ path: String) -> Bool {
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
