// The identity of a database's file.

#if SQLite
import CLinux
import FireweedTransport
import Glibc

/// The inode and the birth time of a file, which no other file of its file system has.
struct DatabaseIdentity: Equatable {
    private let inode: UInt64
    /// When the file was made, in nanoseconds since 1970; 0 where the file system does not say.
    ///
    /// A new file may get the inode of a removed one.
    private let birth: UInt64

    /// Reads the identity of the file at the path; `nil` when there is no file; a symbolic link is not followed.
    init?(path: String) {
        BlockingCall.check("statx")
        var (inode, birth): (UInt64, UInt64) = (0, 0)
        guard fw_file_identity(path, &inode, &birth) == 0 else { return nil }
        (self.inode, self.birth) = (inode, birth)
    }

    /// Reads the format of `text`, without the spaces around it; `nil` for any other text.
    init?(text: String) {
        let numbers = text.split(separator: " ").map { UInt64($0) }
        guard numbers.count == 2, let inode = numbers[0], let birth = numbers[1] else { return nil }
        (self.inode, self.birth) = (inode, birth)
    }

    var text: String { "\(inode) \(birth)" }
}
#endif
