// The file of a database, which only SQLite opens.

#if SQLite
import FireweedTransport
import Foundation
import Glibc

/// Makes and protects the file of a database by its path.
///
/// This process opens the file through SQLite only. Closing any descriptor of a file releases all locks that the
/// process holds on that file (fcntl(2)): closing a second descriptor would release the locks of every connection of
/// this process, and other processes would then write at the same time, or delete the log that is in use.
struct DatabaseFile {
    let path: String

    /// Makes the file for its owner only, if it is missing; throws `SQLiteFailure`.
    ///
    /// `becomesPrivate` also takes the permissions of other users away from a file that exists, and from its companion
    /// files. SQLite gives the companion files that it makes the mode of the database.
    func prepare(becomesPrivate: Bool) throws(SQLiteFailure) {
        BlockingCall.check("stat")
        try make()
        guard becomesPrivate else { return }
        for companion in ["", "-wal", "-shm", "-journal"] {
            let name = path + companion
            var status = stat()
            guard stat(name, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                status.st_mode & 0o777 != 0o600
            else { continue }
            chmod(name, 0o600)
        }
    }

    private func make() throws(SQLiteFailure) {
        BlockingCall.check("mknod")
        // `mknod` makes a regular file without a descriptor, whose closing would release SQLite's locks. An empty file
        // is an empty database.
        if mknod(path, S_IFREG | 0o600, 0) == 0 { return }
        var code = errno
        if code == EEXIST, case .vacant(let target)? = try? FileDestination(at: URL(fileURLWithPath: path)) {
            // `path` is a symbolic link whose target is missing: the target is made.
            if mknod(target, S_IFREG | 0o600, 0) == 0 { return }
            code = errno
        }
        var status = stat()
        if stat(path, &status) == 0 {
            switch status.st_mode & S_IFMT {
            case S_IFREG: return
            case S_IFDIR: code = EISDIR
            default: code = ENOTSUP
            }
        }
        throw .cannotOpen(String(cString: strerror(code)))
    }
}
#endif
