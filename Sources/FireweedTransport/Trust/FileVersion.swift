// The version of a file on disk.

import CLinux
import Foundation
import Glibc

/// The properties of a file or folder that change when it is written or replaced.
struct FileVersion: Hashable, Sendable {
    private let device: UInt
    private let inode: UInt
    private let byteCount: Int
    private let modified: [Int]
    private let changed: [Int]
    /// The versions of a folder's files, in the order of the folder; empty for a file.
    private var files: [FileVersion] = []

    /// Reads the properties of the file at a URL; `nil` if there is no such file.
    ///
    /// This call may block on the disk.
    init?(_ url: URL) {
        var status = stat()
        guard url.path.withCString({ stat($0, &status) }) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the properties of a folder and of the files in it; `nil` if there is no such folder, or it cannot be read.
    ///
    /// A file that is written in place changes no property of its folder. This call may block on the disk.
    init?(folder url: URL) {
        self.init(url)
        guard let folder = opendir(url.path) else { return nil }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            var status = stat()
            let isFound = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { fstatat(dirfd(folder), $0, &status, 0) == 0 }
            }
            if isFound, status.st_mode & S_IFMT == S_IFREG { files.append(FileVersion(status)) }
        }
    }

    private init(_ status: stat) {
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
