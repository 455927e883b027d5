// The kind of file at a path that content is written to.

import FireweedTransport
package import Foundation
import Glibc

/// The kind of file at the path of a download, after following symbolic links.
package enum FileDestination: Equatable {
    /// The owner, the group and the mode of a file.
    package struct Attributes: Equatable, Sendable {
        package let mode: UInt32
        let user: UInt32
        let group: UInt32

        /// Whether no user has the permission to write to the file.
        package var isReadOnly: Bool { mode & 0o222 == 0 }
    }

    /// Nothing is at this path; the content makes a new file there.
    case vacant(String)
    /// A regular file is at this path; content replaces it whole.
    case file(String, Attributes)
    /// A device, a pipe or an open descriptor (`/dev/stdout`): content is written to it, and never replaces it.
    case stream(String)

    /// Examines a path.
    ///
    /// Throws `FileFailure` for a folder, for a socket, for a path that cannot be examined, and for a URL without the
    /// scheme `file`.
    package init(at url: URL) throws {
        BlockingCall.check("lstat")
        guard url.isFileURL else { throw FileFailure(operation: .create, file: url, code: EINVAL) }
        var path = url.path
        for _ in 0..<40 {  // as many links as the kernel follows (path_resolution(7))
            var status = stat()
            guard lstat(path, &status) == 0 else {
                guard errno == ENOENT else { throw FileFailure.current(.create, url) }
                self = .vacant(path)
                return
            }
            if status.st_mode & S_IFMT != S_IFLNK {
                self = try Self.destination(at: path, status, of: url)
                return
            }
            if status.st_dev == Self.procDevice {
                self = try Self.descriptor(at: path, of: url)
                return
            }
            path = try Self.target(of: path)
        }
        throw FileFailure(operation: .create, file: url, code: ELOOP)
    }

    private static func destination(at path: String, _ status: stat, of url: URL) throws -> FileDestination {
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            return .file(
                path, Attributes(mode: status.st_mode & 0o7777, user: status.st_uid, group: status.st_gid))
        case S_IFCHR, S_IFBLK, S_IFIFO: return .stream(path)
        case S_IFDIR: throw FileFailure(operation: .create, file: url, code: EISDIR)
        default: throw FileFailure(operation: .create, file: url, code: ESOCKTNOSUPPORT)
        }
    }

    /// Returns the destination behind a link of procfs: an open descriptor, whose file may have no path
    /// (proc_pid_fd(5)).
    private static func descriptor(at path: String, of url: URL) throws -> FileDestination {
        BlockingCall.check("stat")
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileFailure.current(.create, url) }
        _ = try destination(at: path, status, of: url)
        return .stream(path)
    }

    private static func target(of link: String) throws -> String {
        let target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
        return target.hasPrefix("/") ? target : (link as NSString).deletingLastPathComponent + "/" + target
    }

    private static let procDevice: dev_t? = {
        var status = stat()
        return stat("/proc/self/", &status) == 0 ? status.st_dev : nil
    }()
}
