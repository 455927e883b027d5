// A complete download gets to its destination, all or nothing.

import Foundation
import Glibc

/// Moves files so that a destination has its old content or the new one, and never a part.
enum FileMove {
    /// Moves a file; without `replacing`, something that is at the destination is an error and stays.
    ///
    /// Throws `FileFailure`, and what the file manager throws; source and destination are then as they were.
    static func move(_ source: URL, to target: URL, replacing: Bool, files: FileManager) throws {
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
}
