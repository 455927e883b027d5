// The location of a database, its opening, and the replacement of a damaged one.

#if SQLite
import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// Opens the file of a database, and replaces a damaged file by an empty one where its content may be lost.
///
/// A database that may be replaced has a lock file, `…-lock`, beside it.
final class DatabaseSource: Sendable {
    /// Makes tables and sets options on a new connection.
    typealias Preparation = @Sendable (SQLiteConnection, Waiting) throws(SQLiteFailure) -> Void

    /// How long a call waits for locks of other connections, in milliseconds.
    struct Waiting: Sendable, Equatable {
        /// The longest wait for a lock on the database.
        let milliseconds: Int32
        /// The longest wait for the lock beside the database.
        let lockMilliseconds: Int
    }

    let path: String
    /// How often a connection of this source has found another file, or made one.
    let changes = Atomic(0)
    private let replacesDamaged: Bool
    private let becomesPrivate: Bool
    private let prepare: Preparation

    /// Takes the path of the file; that of a symbolic link stands for its target.
    ///
    /// Of several paths to one file, all have one lock, and the same companion files.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - replacesDamaged: whether a damaged file is renamed to `…-damaged` and replaced by an empty one.
    ///   - becomesPrivate: whether other users lose their permissions on a file that exists.
    ///   - prepare: called with each new connection.
    init(path: String, replacesDamaged: Bool, becomesPrivate: Bool = false, prepare: @escaping Preparation) {
        self.path =
            switch try? FileDestination(at: URL(fileURLWithPath: path)) {
            case .file(let target, _), .vacant(let target): target
            case .stream, nil: path
            }
        self.replacesDamaged = replacesDamaged
        self.becomesPrivate = becomesPrivate
        self.prepare = prepare
    }

    /// A connection to the file that is at the path, or to a new one.
    func connect(_ waiting: Waiting) throws(SQLiteFailure) -> SQLiteConnection {
        guard replacesDamaged else { return try makeConnection(waiting) }
        let seen = identity
        do throws(SQLiteFailure) {
            for kind in [FileLock.Kind.shared, .exclusive] {
                if let connection = try connect(holding: kind, waiting) { return connection }
            }
            throw .busy  // replaced once more meanwhile
        } catch  where error.isDamage {
            return try replace(waiting) { self.identity != seen }
        }
    }

    private func makeConnection(_ waiting: Waiting) throws(SQLiteFailure) -> SQLiteConnection {
        let connection = try openConnection(waiting.milliseconds)
        try prepare(connection, waiting)
        connection.noteIndex()
        return connection
    }

    private func openConnection(_ milliseconds: Int32) throws(SQLiteFailure) -> SQLiteConnection {
        try SQLiteConnection(path: path, busyMilliseconds: milliseconds, becomesPrivate: becomesPrivate)
    }

    /// Connects under the lock; `nil` where the log and the index at the path may be another file's, and the lock is
    /// shared.
    private func connect(
        holding kind: FileLock.Kind, _ waiting: Waiting
    ) throws(SQLiteFailure) -> SQLiteConnection? {
        let lock: DatabaseLock
        do throws(DatabaseLock.Failure) {
            lock = try DatabaseLock(beside: path, kind, waitingMilliseconds: waiting.lockMilliseconds)
        } catch {
            // A database of another user can be used without its lock file.
            guard error == .busy else { return try makeConnection(waiting) }
            throw .busy
        }
        return try lock.whileHeld { (lock: borrowing DatabaseLock) throws(SQLiteFailure) in
            if kind == .exclusive { try claimCompanions(lock) }
            guard let present = identity, lock.identity == present else { return nil }
            let connection = try openConnection(waiting.milliseconds)
            // Before the first statement, which opens the log and the index.
            guard !connection.hasMoved, identity == present else { return nil }
            try prepare(connection, waiting)
            connection.noteIndex()
            return connection
        }
    }

    /// Removes a log and an index that are not those of the file at the path, and makes the file if it is missing.
    ///
    /// A file that is replaced by rename(2) leaves its log and its index in place. SQLite would read that log as the
    /// new file's. Connections to both files would share the index, and one would shorten it while another has it
    /// mapped (SIGBUS). Connections to the old file keep what they have open, and remove nothing when they are closed.
    private func claimCompanions(_ lock: borrowing DatabaseLock) throws(SQLiteFailure) {
        let (present, known) = (identity, lock.identity)
        // A lock file without an identity is new, or of a version that wrote none.
        if present == nil || known != nil && known != present {
            for companion in ["-wal", "-shm"] { unlink(path + companion) }
        }
        if present == nil {
            try DatabaseFile(path: path).prepare(becomesPrivate: false)
        } else if known != nil, known != present {
            try checkExclusive()
        }
        if let identity, identity != known { lock.note(identity) }
    }

    /// Throws `.busy` where a connection of any process has the file open: it has another log and another index, as
    /// after a file was moved away and back.
    private func checkExclusive() throws(SQLiteFailure) {
        // SQLite leaves the mode of a write-ahead log for the only connection alone.
        try openConnection(0).run("PRAGMA journal_mode = DELETE")
    }

    /// The identity of the file at the path; `nil` without a file.
    private var identity: DatabaseIdentity? { DatabaseIdentity(path: path) }

    // MARK: Damage

    /// Renames a damaged database to `…-damaged`, and makes an empty one; throws `error` where that is not wanted.
    ///
    /// `connection` has the damaged file.
    func replace(
        damaged connection: SQLiteConnection, after error: SQLiteFailure, _ waiting: Waiting
    ) throws(SQLiteFailure) -> SQLiteConnection {
        guard replacesDamaged else { throw error }
        return try replace(waiting) { connection.hasMoved }
    }

    /// Replaces the file under a lock between processes.
    ///
    /// Two processes that find the damage at once must not rename each other's new file. A reader does not wait for the
    /// lock: it throws `.busy`.
    private func replace(
        _ waiting: Waiting, unless isReplaced: () -> Bool
    ) throws(SQLiteFailure) -> SQLiteConnection {
        let lock: DatabaseLock
        do throws(DatabaseLock.Failure) {
            lock = try DatabaseLock(beside: path, .exclusive, waitingMilliseconds: waiting.lockMilliseconds)
        } catch {
            throw error == .busy ? .busy : .irreplaceable
        }
        return try lock.whileHeld { (lock: borrowing DatabaseLock) throws(SQLiteFailure) in
            if isReplaced() {
                // Another process was first, and its file may be damaged by now.
                do throws(SQLiteFailure) {
                    return try connect(claiming: lock, waiting)
                } catch {
                    guard error.isDamage else { throw error }
                }
            }
            try setAside()
            do throws(SQLiteFailure) {
                return try connect(claiming: lock, waiting)
            } catch {
                throw .irreplaceable
            }
        }
    }

    private func connect(
        claiming lock: borrowing DatabaseLock, _ waiting: Waiting
    ) throws(SQLiteFailure) -> SQLiteConnection {
        try claimCompanions(lock)
        return try makeConnection(waiting)
    }

    /// Renames the damaged file for inspection.
    ///
    /// An older database there is removed. A file that is no database stays, since it may be a document whose path was
    /// given by mistake: the new one gets the next free name.
    private func setAside() throws(SQLiteFailure) {
        let names = (1...).lazy.map { [path] number in number == 1 ? "\(path)-damaged" : "\(path)-damaged-\(number)" }
        guard let aside = names.first(where: { !Self.isForeign($0) }), rename(path, aside) == 0 else {
            throw .irreplaceable
        }
        if rename("\(path)-wal", "\(aside)-wal") != 0 {
            unlink("\(path)-wal")
            unlink("\(aside)-wal")
        }
        unlink("\(path)-shm")
    }

    /// Whether there is a file at the path that is no database.
    private static func isForeign(_ path: String) -> Bool {
        guard FileManager.default.fileExists(atPath: path) else { return false }
        do throws(SQLiteFailure) {
            _ = try SQLiteConnection(path: path, busyMilliseconds: 0).number("PRAGMA schema_version")
            return false
        } catch {
            return error.isOfForeignFile
        }
    }
}
#endif
