// The lock beside a database.

#if SQLite
import FireweedTransport
import Glibc

/// The lock file of a database, whose name ends in `-lock`; for one thread at a time.
///
/// Each use of the database takes the lock shared. A process takes the lock exclusively when it replaces the database,
/// or when the file at the path is not the file that the lock file names. During an exclusive lock, no transaction is
/// under way: a journal beside the database was left by a dead process. The lock file names the database that this
/// journal belongs to (`DatabaseIdentity`), and its own inode, so that a copy of the lock file is not trusted.
final class DatabaseLock: Sendable {
    enum Failure: Error {
        /// Another process kept the lock for longer than the wait, or there is no descriptor or memory for the file.
        case busy
        /// The lock file cannot be opened or locked, or belongs to another program.
        case unusable
    }

    /// The length of a lock file's text, padded with spaces: overwriting the text needs no further space on the disk.
    private static let byteCount = 64

    private let descriptor: Int32
    private let path: String

    /// Opens the lock file of the database at a path, or makes it; the path must not be a symbolic link.
    init(besideDatabaseAt database: String) throws(Failure) {
        BlockingCall.check("open")
        path = "\(database)-lock"
        // `O_NOFOLLOW`: a symbolic link could name any file, and that file would be overwritten.
        let opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        let code = errno
        descriptor = opened
        guard opened >= 0 else { throw [EMFILE, ENFILE, ENOMEM].contains(code) ? .busy : .unusable }
        guard isOurs else { throw .unusable }
    }

    /// Whether the open file is a lock file: a short one, of digits and spaces.
    private var isOurs: Bool {
        BlockingCall.check("fstat")
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        guard status.st_size <= Self.byteCount else { return false }
        return text.utf8.allSatisfy { $0 == UInt8(ascii: " ") || (48...57).contains($0) }
    }

    func take(_ kind: FileLock.Kind, waitingMilliseconds: Int) throws(Failure) {
        switch FileLock.take(descriptor, kind, waitingMilliseconds: waitingMilliseconds) {
        case .taken: return
        case .busy: throw .busy
        case .unusable: throw .unusable
        }
    }

    func release() { FileLock.release(descriptor) }

    /// Whether the open file is still at its path: a new file at that path is another lock.
    var isAtPath: Bool { FileLock.isFile(descriptor, at: path) }

    /// The identity in the lock file; `nil` if the file has none, or is a copy.
    var identity: DatabaseIdentity? {
        let parts = text.split(separator: " ")
        guard parts.count == 3, UInt64(parts[2]) == inode else { return nil }
        return DatabaseIdentity(text: parts.dropLast().joined(separator: " "))
    }

    private var inode: UInt64? {
        BlockingCall.check("fstat")
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// Writes an identity, or removes it for `nil`; false if writing failed.
    func note(_ identity: DatabaseIdentity?) -> Bool {
        BlockingCall.check("pwrite")
        let text = Array((identity.map { "\($0.text) \(inode ?? 0)" } ?? "").utf8)
        let padded = text + [UInt8](repeating: UInt8(ascii: " "), count: Self.byteCount - text.count)
        return pwrite(descriptor, padded, padded.count, 0) == padded.count
    }

    private var text: String {
        BlockingCall.check("pread")
        return withUnsafeTemporaryAllocation(byteCount: Self.byteCount, alignment: 1) { bytes in
            let count = pread(descriptor, bytes.baseAddress, bytes.count, 0)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }

    deinit {
        if descriptor >= 0 { FileLock.close(descriptor) }
    }
}
#endif
