// Atomic moves of complete content to its destination.

import FireweedTransport
package import Foundation
import Glibc

/// Moves files to destinations atomically: a destination has its old content or the new one, and never a part.
///
/// For a file that is replaced, this holds after a power cut too: the new content is on the disk before it gets the
/// name. Only a regular file is replaced; the new file gets the mode of the old one, and its owner if the kernel allows
/// that. Symbolic links are followed, and stay. Devices, pipes and open descriptors are written to. Folders and sockets
/// are errors.
package enum FileInstaller {
    /// Moves a file; without `replacing`, anything at the destination is an error and stays.
    ///
    /// Returns the file that has the content now, after following links; `nil` when the content was written to a device
    /// or a pipe. Throws `FileFailure`; source and destination then keep their content, except for bytes that a device
    /// or a pipe has accepted. `newMode` is the mode for a file that replaces no other file; `nil` keeps the source's
    /// mode.
    static func move(_ source: URL, to target: URL, replacing: Bool, newMode: UInt32? = nil) throws -> URL? {
        BlockingCall.check("rename")
        if !replacing { try refuseAnything(at: target) }
        switch try FileDestination(at: target) {
        case .stream(let path):
            try pour(source, intoStreamAt: path, of: target)
            unlink(source.path)
            return nil
        case .vacant(let path):
            if let newMode, chmod(source.path, newMode) != 0 { throw FileFailure.current(.create, target) }
            try install(source, at: path, keeping: nil, replacing: replacing)
            return URL(fileURLWithPath: path)
        case .file(let path, let attributes):
            try install(source, at: path, keeping: attributes, replacing: replacing)
            return URL(fileURLWithPath: path)
        }
    }

    /// Writes data to a file that only this user may read, and replaces an existing file.
    package static func writePrivately(_ data: Data, to target: URL) throws {
        BlockingCall.check("fsync")
        switch try FileDestination(at: target) {
        case .stream(let path):
            let output = try openStream(path, of: target)
            defer { close(output) }
            try ignoringBrokenPipes { try write(data, to: output, of: target) }
        case .vacant(let path), .file(let path, _):
            let (sibling, descriptor) = try SiblingFile.make(beside: path, mode: 0o600)
            defer { FileLock.close(descriptor) }
            do {
                // The umask may have cleared bits of the mode at creation.
                guard fchmod(descriptor, 0o600) == 0 else { throw FileFailure.current(.create, target) }
                try write(data, to: descriptor, of: target)
                guard fsync(descriptor) == 0 else { throw FileFailure.current(.write, target) }
                guard Glibc.rename(sibling.path, path) == 0 else { throw FileFailure.current(.create, target) }
                synchronizeFolder(of: path)
            } catch {
                unlink(sibling.path)
                throw error
            }
        }
    }

    // MARK: Files

    private static func refuseAnything(at target: URL) throws {
        BlockingCall.check("lstat")
        var status = stat()
        guard lstat(target.path, &status) == 0 else { return }
        let isFolder = status.st_mode & S_IFMT == S_IFDIR
        throw FileFailure(operation: .create, file: target, code: isFolder ? EISDIR : EEXIST)
    }

    private static func install(
        _ source: URL, at path: String, keeping attributes: FileDestination.Attributes?, replacing: Bool
    ) throws {
        if let attributes {
            try synchronize(source)  // before the mode, which may forbid reading
            try keep(attributes, on: source)
        }
        if rename(source.path, path, replacing: replacing) {
            if attributes != nil { synchronizeFolder(of: path) }
            return
        }
        guard errno == EXDEV else { throw FileFailure.current(.create, URL(fileURLWithPath: path)) }
        // The destination is on another file system: the content is copied to a file beside it, which is then renamed.
        let (sibling, lock) = try copy(source, beside: path)
        defer { FileLock.close(lock) }
        do {
            if let attributes {
                try synchronize(sibling)
                try keep(attributes, on: sibling)
            }
            guard rename(sibling.path, path, replacing: replacing) else {
                throw FileFailure.current(.create, URL(fileURLWithPath: path))
            }
            if attributes != nil { synchronizeFolder(of: path) }
        } catch {
            unlink(sibling.path)
            throw error
        }
        unlink(source.path)
    }

    /// Waits until a file's content is on the disk.
    private static func synchronize(_ file: URL) throws {
        BlockingCall.check("fsync")
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw FileFailure.current(.write, file) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileFailure.current(.write, file) }
    }

    /// Waits until the new name of a renamed file is on the disk; errors are ignored, since some file systems cannot
    /// do that.
    private static func synchronizeFolder(of path: String) {
        BlockingCall.check("fsync")
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Gives a new file the mode and the owner of the file that it replaces.
    private static func keep(_ attributes: FileDestination.Attributes, on file: URL) throws {
        BlockingCall.check("lstat")
        var status = stat()
        guard lstat(file.path, &status) == 0 else { throw FileFailure.current(.create, file) }
        var mode = attributes.mode
        if (status.st_uid, status.st_gid) != (attributes.user, attributes.group),
            lchown(file.path, attributes.user, attributes.group) != 0
        {
            // Only root may change a file's owner (chown(2)). So only the group is set, if the kernel allows it, and
            // the set-user-ID and set-group-ID bits are cleared.
            _ = lchown(file.path, uid_t.max, attributes.group)
            mode &= 0o777
        }
        guard chmod(file.path, mode) == 0 else { throw FileFailure.current(.create, file) }
    }

    /// Copies a file; the returned descriptor holds the lock, without which another process would remove the copy as
    /// abandoned.
    private static func copy(_ source: URL, beside path: String) throws -> (copy: URL, descriptor: Int32) {
        BlockingCall.check("stat")
        var status = stat()
        guard stat(source.path, &status) == 0 else { throw FileFailure.current(.create, source) }
        let (sibling, output) = try SiblingFile.make(beside: path, mode: status.st_mode & 0o777)
        do {
            try pour(source, into: output, of: sibling)
        } catch {
            unlink(sibling.path)
            FileLock.close(output)
            throw error
        }
        return (sibling, output)
    }

    private static func rename(_ source: String, _ target: String, replacing: Bool) -> Bool {
        if replacing { return Glibc.rename(source, target) == 0 }
        // Making a hard link fails if the target exists (link(2)). When the link is made, the old name is removed.
        if link(source, target) == 0 { return unlink(source) == 0 }
        guard errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK else { return false }
        // The file cannot be linked here, and a rename replaces its target. So the target is looked for first; a
        // target that another process creates after that is replaced.
        guard access(target, F_OK) != 0 else {
            errno = EEXIST
            return false
        }
        return Glibc.rename(source, target) == 0
    }

    // MARK: Devices and pipes

    private static func pour(_ source: URL, intoStreamAt path: String, of target: URL) throws {
        let output = try openStream(path, of: target)
        defer { close(output) }
        try ignoringBrokenPipes { try pour(source, into: output, of: target) }
    }

    private static func openStream(_ path: String, of target: URL) throws -> Int32 {
        BlockingCall.check("open")
        // With `O_NONBLOCK`, opening a pipe without a reader fails instead of waiting. An open descriptor may be of a
        // regular file: `O_APPEND` keeps that file's content.
        let output = Descriptors.make { open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) }
        guard output >= 0 else { throw FileFailure.current(.create, target) }
        guard fcntl(output, F_SETFL, O_WRONLY | O_APPEND) == 0 else {
            let failure = FileFailure.current(.write, target)
            close(output)
            throw failure
        }
        return output
    }

    /// Turns the loss of a pipe's reader into an error of `write`, instead of a signal that ends the process.
    private static func ignoringBrokenPipes(_ body: () throws -> Void) rethrows {
        var signals = sigset_t()
        var before = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        defer {
            var pending = sigset_t()
            var number: Int32 = 0
            sigpending(&pending)
            if sigismember(&before, SIGPIPE) == 0, sigismember(&pending, SIGPIPE) == 1 { sigwait(&signals, &number) }
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        try body()
    }

    // MARK: Bytes

    private static func pour(_ source: URL, into output: Int32, of target: URL) throws {
        BlockingCall.check("open")
        let input = Descriptors.make { open(source.path, O_RDONLY | O_CLOEXEC) }
        guard input >= 0 else { throw FileFailure.current(.create, source) }
        defer { close(input) }
        var block = Data(count: 256 * 1024)
        while true {
            let count = block.withUnsafeMutableBytes { read(input, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFailure.current(.write, source) }
            guard count > 0 else { return }
            try write(block.prefix(count), to: output, of: target)
        }
    }

    private static func write(_ data: Data, to output: Int32, of target: URL) throws {
        try data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(output, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw FileFailure.current(.write, target) }
                rest = rest.dropFirst(count)
            }
        }
    }
}
