// Where downloads are while they come.

import Foundation
import Glibc

/// New places for files, each in a folder that only this user can look into.
///
/// While a file is the library's, a symbolic link `owner` beside the file names the process. The first new place of a
/// process removes the folders whose owner has ended. Where that cannot be known, since machines or containers share
/// the temporary folder, it removes the folders in which nothing has changed for ten days. A file that somebody took
/// has no such link, and stays.
enum TemporaryFiles {
    private static let prefix = "fireweed-"
    private static let content = "content"
    private static let owner = "owner"
    /// Seconds without a change after which a file of an unknown process is a leftover: as long as systemd-tmpfiles(8)
    /// keeps files in /tmp.
    private static let strangerLifetime = 10 * 86_400

    /// The folder above all of them.
    static var folder: URL { FileManager.default.temporaryDirectory }

    /// Runs once in a process.
    private static let firstSweep: Void = removeLeftovers(in: folder)

    /// A place where there is no file yet.
    ///
    /// Throws `FileFailure` when its folder cannot be made.
    static func newPlace() throws -> URL {
        _ = firstSweep
        return try newPlace(in: folder, of: .current)
    }

    static func newPlace(in parent: URL, of process: ProcessIdentity) throws -> URL {
        let folder = parent.appendingPathComponent("\(prefix)\(UUID().uuidString)")
        guard mkdir(folder.path, 0o700) == 0 else { throw FileFailure.current(.create, folder) }
        guard symlink(process.text, folder.appendingPathComponent(owner).path) == 0 else {
            let failure = FileFailure.current(.create, folder)
            rmdir(folder.path)
            throw failure
        }
        return folder.appendingPathComponent(content)
    }

    /// Whether a file is at a place that was made here.
    static func isPlace(_ file: URL) -> Bool {
        let folder = file.deletingLastPathComponent()
        return file.lastPathComponent == content && folder.lastPathComponent.hasPrefix(prefix)
            && folder.deletingLastPathComponent().path == self.folder.path
    }

    /// Lets a file stay when this process ends.
    static func keep(_ place: URL) {
        unlink(place.deletingLastPathComponent().appendingPathComponent(owner).path)
    }

    /// Removes the folder of a place, once its file has gone from there.
    static func leave(_ place: URL) {
        keep(place)
        rmdir(place.deletingLastPathComponent().path)
    }

    /// Removes the files of processes that have ended.
    static func removeLeftovers(in parent: URL) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        where name.hasPrefix(prefix) {
            let path = "\(parent.path)/\(name)"
            // Another user could have put a link or a folder there: neither is followed.
            let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard folder >= 0 else { continue }
            defer { close(folder) }
            var status = stat()
            guard fstat(folder, &status) == 0, status.st_uid == geteuid(), let text = link(owner, in: folder) else {
                continue
            }
            switch ProcessIdentity(text)?.fate ?? .unknown {
            case .living: continue
            case .unknown where lastChange(in: folder, status) > time(nil) - strangerLifetime: continue
            case .unknown, .ended: break
            }
            unlinkat(folder, content, 0)
            unlinkat(folder, owner, 0)
            rmdir(path)
        }
    }

    /// When the folder or its file has changed last, in seconds since 1970.
    private static func lastChange(in folder: Int32, _ status: stat) -> Int {
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
