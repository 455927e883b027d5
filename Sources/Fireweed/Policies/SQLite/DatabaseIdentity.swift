// The identity of a database's file.

#if SQLite
import CLinux
import FireweedTransport
import Glibc

/// The inode and the birth time of a file; no other file of the same file system has this pair.
struct DatabaseIdentity: Equatable {
    private let inode: UInt64
    /// When the file was made, in nanoseconds since 1970; 0 if the file system does not record this time.
    ///
    /// The inode is not enough: a new file may get the inode of a removed file.
    private let birth: UInt64

    /// Reads the identity of the file at the path; `nil` when there is no file; a symbolic link is not followed.
    init?(path: String) {
        BlockingCall.check("statx")
        var (inode, birth): (UInt64, UInt64) = (0, 0)
        guard fw_file_identity(path, &inode, &birth) == 0 else { return nil }
        (self.inode, self.birth) = (inode, birth)
    }

    /// Parses the format of the property `text`; `nil` for any other text.
    init?(text: String) {
        let numbers = text.split(separator: " ").map { UInt64($0) }
        guard numbers.count == 2, let inode = numbers[0], let birth = numbers[1] else { return nil }
        (self.inode, self.birth) = (inode, birth)
    }

    var text: String { "\(inode) \(birth)" }
}
#endif
