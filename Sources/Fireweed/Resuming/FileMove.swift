// A complete download gets to its destination, all or nothing.

import Foundation
import Glibc

/// Moves files so that a destination has its old content or the new one, and never a part.
enum FileMove {
    /// Moves a file; without `replacing`, something that is at the destination is an error and stays.
    ///
    /// A device or a pipe that is at the destination is never replaced: it gets the content, as from any program that writes to it.
    /// Throws `FileFailure`, and what the file manager throws; source and destination are then as they were.
    static func move(_ source: URL, to target: URL, replacing: Bool, files: FileManager) throws {
        if replacing, isStream(target) { return try pour(source, into: target) }
        if rename(source, target, replacing: replacing) { return }
        switch errno {
        case EXDEV: try copy(source, to: target, replacing: replacing, files: files)
        case EISDIR, ENOTEMPTY, EEXIST, ENOTDIR:
            // A folder is in the way, which `rename` does not replace: `removePreviousFile` means folders too.
            let code = errno
            guard replacing, files.fileExists(atPath: target.path) else {
                throw FileFailure(step: .create, file: target, code: code)
            }
            try files.removeItem(at: target)
            guard rename(source, target, replacing: true) else { throw FileFailure.current(.create, target) }
        default: throw FileFailure.current(.create, target)
        }
    }

    /// Another file system: copied beside the destination first, then renamed there.
    private static func copy(_ source: URL, to target: URL, replacing: Bool, files: FileManager) throws {
        let beside = target.deletingLastPathComponent()
            .appendingPathComponent(".\(target.lastPathComponent.prefix(100)).\(UUID().uuidString)")
        do {
            try files.copyItem(at: source, to: beside)
            try move(beside, to: target, replacing: replacing, files: files)
        } catch {
            unlink(beside.path)
            throw error
        }
        unlink(source.path)
    }

    private static func rename(_ source: URL, _ target: URL, replacing: Bool) -> Bool {
        if replacing { return Glibc.rename(source.path, target.path) == 0 }
        // A second name first, which is refused when one is there; then the old name goes.
        if link(source.path, target.path) == 0 { return unlink(source.path) == 0 }
        guard errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK else { return false }
        // A file system without second names: what is left is to look first.
        guard access(target.path, F_OK) != 0 else {
            errno = EEXIST
            return false
        }
        return Glibc.rename(source.path, target.path) == 0
    }

    /// Whether this is a character device or a pipe, which is written to and never replaced.
    static func isStream(_ file: URL) -> Bool {
        var status = stat()
        guard stat(file.path, &status) == 0 else { return false }
        return [S_IFCHR, S_IFIFO].contains(status.st_mode & S_IFMT)
    }

    private static func pour(_ source: URL, into target: URL) throws {
        // A pipe that nobody reads is an error, and nothing to wait for.
        let output = open(target.path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard output >= 0 else { throw FileFailure.current(.create, target) }
        defer { close(output) }
        let input = open(source.path, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw FileFailure.current(.create, source) }
        defer { close(input) }
        guard fcntl(output, F_SETFL, O_WRONLY) == 0 else { throw FileFailure.current(.write, target) }
        // A reader that goes is an error here, and no signal that would end the process.
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
        var block = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(input, &block, block.count)
            guard count >= 0 else { throw FileFailure.current(.write, source) }
            guard count > 0 else { break }
            var written = 0
            while written < count {
                let step = block[written..<count].withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
                guard step >= 0 || errno == EINTR else { throw FileFailure.current(.write, target) }
                written += max(step, 0)
            }
        }
        unlink(source.path)
    }
}
