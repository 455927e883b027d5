// The version of a file on disk.

import CLinux
import Foundation
import Glibc

/// The properties of a file or folder that change when it is written or replaced.
struct FileVersion: Hashable {
    private let device: UInt
    private let inode: UInt
    private let byteCount: Int
    private let modified: [Int]
    private let changed: [Int]

    /// Reads the properties of the file at a URL; `nil` if there is no such file.
    ///
    /// This call may block on the disk.
    init?(_ url: URL) {
        var status = stat()
        guard url.path.withCString({ stat($0, &status) }) == 0 else { return nil }
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        byteCount = Int(status.st_size)
        modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        changed = [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }

    /// Whether the file last changed at least two seconds ago.
    ///
    /// A file that was just written may change again with the same time stamp.
    var isSettled: Bool { time(nil) - changed[0] >= 2 }
}
