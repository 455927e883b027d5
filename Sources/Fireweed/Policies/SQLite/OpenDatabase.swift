// The connections that this process has to each database.

#if SQLite
import CSQLite
import FireweedTransport
import Glibc
import Synchronization

/// Keeps unused connections to a file open while the process uses another connection to the file; the next caller that
/// opens the file gets an unused connection.
///
/// SQLite 3.40 checks whether another connection of the process has a lock on the file, and closes its descriptor a
/// moment later (`unixClose` in os_unix.c). A lock that another thread takes in between is lost, since closing any
/// descriptor of a file releases the locks of the process (fcntl(2)): two processes then write at the same time.
final class OpenDatabase: Sendable {
    private struct File: Hashable {
        let device: UInt
        let inode: UInt
    }

    /// A connection that is not in use.
    struct Spare: @unchecked Sendable {
        // SAFETY: nothing else has the connection; SQLite does not care which thread calls.
        let handle: OpaquePointer
        /// The path with which the connection was opened; SQLite makes the name of the journal from it.
        let path: String
    }

    private struct State {
        /// The number of connections that are in use.
        var count = 0
        var spares: [Spare] = []
        /// Whether the last connection was closed; later connections to the file use a new object.
        var isOver = false
    }

    private struct Table {
        var files: [File: OpenDatabase] = [:]
        /// The fork count of the process that opened the connections: a child of fork(2) cannot use them.
        var forkCount = 0
    }

    private static let table = Mutex(Table())

    private let file: File
    private let state = Mutex(State())

    private init(_ file: File) {
        self.file = file
    }

    /// Returns the object of the file at a path, and adds one to its number of connections; `nil` if there is no file.
    static func adding(path: String) -> OpenDatabase? {
        BlockingCall.check("stat")
        ForkCount.watch()
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let file = File(device: UInt(status.st_dev), inode: UInt(status.st_ino))
        while true {
            let database = table.withLock { table in
                if table.forkCount != ForkCount.current { table = Table(forkCount: ForkCount.current) }
                if let known = table.files[file] { return known }
                let made = OpenDatabase(file)
                table.files[file] = made
                return made
            }
            let isOver = database.state.withLock { state in
                if !state.isOver { state.count += 1 }
                return state.isOver
            }
            if !isOver { return database }
            sched_yield()  // the last connection is being closed
        }
    }

    /// Takes an unused connection that was opened with this path; `nil` if there is none.
    func takeSpare(path: String) -> Spare? {
        state.withLock { state in
            state.spares.firstIndex { $0.path == path }.map { state.spares.remove(at: $0) }
        }
    }

    /// Takes a connection back, or `nil` if none was opened; closes all connections when no connection is in use.
    func remove(_ handle: OpaquePointer?, path: String) {
        BlockingCall.check("sqlite3_close_v2")
        if let handle, sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
        let spare = handle.map { Spare(handle: $0, path: path) }
        let isOver = state.withLock { state in
            if let spare { state.spares.append(spare) }
            state.count -= 1
            guard state.count == 0 else { return false }
            // The connections are closed under the lock, so that a new connection waits until all are closed.
            for spare in state.spares { sqlite3_close_v2(spare.handle) }
            state = State(isOver: true)
            return true
        }
        guard isOver else { return }
        Self.table.withLock { if $0.files[file] === self { $0.files[file] = nil } }
    }
}
#endif
