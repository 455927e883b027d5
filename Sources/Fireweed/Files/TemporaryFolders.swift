// The temporary folders of downloads and uploads.

import CLinux
import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// Makes temporary paths, each in a folder that only this user can read.
///
/// While the library owns a file, a symbolic link `owner` beside the file names the process. When a process makes its
/// first temporary path, and then at most once in 24 hours, the folders whose process has ended are removed. If that is
/// unknown, since machines or containers share the temporary folder, a folder is removed when nothing in it has changed
/// for ten days. A partial file that is kept for a later download is removed after the same time. A file that a caller
/// keeps has no such link, and stays.
enum TemporaryFolders {
    private static let prefix = "fireweed-"
    private static let content = "content"
    private static let owner = "owner"
    /// The seconds without a change after which a file of an unknown process is removed, as systemd-tmpfiles(8) does in
    /// /tmp.
    private static let strangerLifetime = 10 * day
    private static let day = 86_400
    /// The target of the link `owner` beside a partial file that is kept for a later download: not a process.
    private static let resumable = "resumable"

    /// The folder that contains all temporary folders.
    static var folder: URL { FileManager.default.temporaryDirectory }

    /// When this process has last removed abandoned files, in seconds since 1970.
    private static let lastSweep = Mutex<Int?>(nil)

    /// Returns a path in a new temporary folder; the file itself is not made.
    ///
    /// Throws `FileFailure` when its folder cannot be made.
    static func newPath() throws -> URL {
        let now = time(nil)
        let isDue = lastSweep.withLock { last in
            if let last, now - last < day { return false }
            last = now
            return true
        }
        if isDue { removeAbandoned(in: folder) }
        return try newPath(in: folder, of: .current)
    }

    static func newPath(in parent: URL, of process: ProcessIdentity) throws -> URL {
        let folder = parent.appendingPathComponent("\(prefix)\(UUID.random().uuidString)")
        guard mkdir(folder.path, 0o700) == 0 else { throw FileFailure.current(.create, folder) }
        guard symlink(process.text, folder.appendingPathComponent(owner).path) == 0 else {
            let failure = FileFailure.current(.create, folder)
            rmdir(folder.path)
            throw failure
        }
        return folder.appendingPathComponent(content)
    }

    /// Whether a file is at a path that `newPath` has made.
    static func isTemporaryPath(_ file: URL) -> Bool {
        let folder = file.deletingLastPathComponent()
        return file.lastPathComponent == content && folder.lastPathComponent.hasPrefix(prefix)
            && folder.deletingLastPathComponent().path == self.folder.path
    }

    /// Whether a download has left this file in a temporary folder, in this process or another one.
    static func isPartialFile(_ file: URL) -> Bool {
        let path = file.deletingLastPathComponent()
        guard file.lastPathComponent == content, path.lastPathComponent.hasPrefix(prefix) else { return false }
        BlockingCall.check("open")
        let folder = Descriptors.make { open(path.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard folder >= 0 else { return false }
        defer { close(folder) }
        var status = stat()
        // A file that a caller keeps has no link `owner`.
        return fstat(folder, &status) == 0 && status.st_uid == geteuid() && link(owner, in: folder) != nil
    }

    /// Keeps a file after the end of this process.
    static func keep(_ place: URL) {
        unlink(place.deletingLastPathComponent().appendingPathComponent(owner).path)
    }

    /// Keeps a partial file after the end of this process, until nothing has changed for ten days.
    static func keepForResuming(_ place: URL) {
        keep(place)
        symlink(resumable, place.deletingLastPathComponent().appendingPathComponent(owner).path)
    }

    /// Removes the folder of a path, once its file has been moved or removed.
    static func leave(_ place: URL) {
        keep(place)
        rmdir(place.deletingLastPathComponent().path)
    }

    /// Removes the folders of processes that have ended, and the folders of unknown processes after ten days without
    /// change.
    static func removeAbandoned(in parent: URL) {
        BlockingCall.check("open")
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        where name.hasPrefix(prefix) {
            let path = "\(parent.path)/\(name)"
            // Another user could have put a link or a folder there: `O_NOFOLLOW` refuses the link, and the owner check
            // below skips the folder.
            let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard folder >= 0 else { continue }
            defer { close(folder) }
            var status = stat()
            guard fstat(folder, &status) == 0, status.st_uid == geteuid(), let text = link(owner, in: folder) else {
                continue
            }
            switch ProcessIdentity(text)?.status ?? .unknown {
            case .living: continue
            case .unknown where lastChange(in: folder, status) > time(nil) - strangerLifetime: continue
            case .unknown, .ended: break
            }
            unlinkat(folder, content, 0)
            unlinkat(folder, owner, 0)
            rmdir(path)
        }
    }

    /// The last change of the folder or its file, in seconds since 1970.
    private static func lastChange(in folder: Int32, _ status: stat) -> Int {
        BlockingCall.check("stat")
        var file = stat()
        let hasFile = fstatat(folder, content, &file, AT_SYMLINK_NOFOLLOW) == 0
        return max(status.st_mtim.tv_sec, hasFile ? file.st_mtim.tv_sec : 0)
    }

    private static func link(_ name: String, in folder: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = readlinkat(folder, name, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}
