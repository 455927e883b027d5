// Checks of the files that are written, before anything is sent.

import Fireweed
import Foundation
import Glibc

/// A failure with its message for the user, such as a file that cannot be written.
struct OutputError: LocalizedError, Equatable {
    let errorDescription: String?
}

/// Checks the files of `--output` and `--har`, and of curl's `--etag-save`.
enum OutputFile {
    /// Throws `OutputError` if content or the archive could not be saved, before a request is sent in vain.
    static func check(_ invocation: Invocation) throws {
        if let archive = invocation.archiveFile { try check(archive, isContinued: false) }
        if let file = invocation.curl?.savedTagFile { try check(file, isContinued: false) }
        guard invocation.savesToFile else { return }
        guard let path = invocation.outputFile else {
            if let folder = invocation.curl?.outputFolder { try checkFolder(of: "\(folder)/download", folder) }
            return
        }
        guard !path.isEmpty else { throw OutputError(errorDescription: "the name of the file is empty (-o)") }
        try check(path, isContinued: invocation.goesOn)
    }

    private static func check(_ path: String, isContinued: Bool) throws {
        guard !path.hasSuffix("/") else { throw error(path, "that names a folder") }
        switch try destination(path) {
        case .stream where isContinued: throw error(path, "only a file can be continued")
        case .stream(let device):
            guard access(device, W_OK) == 0 else { throw error(path, "that is not permitted") }
        case .file(let file, let attributes):
            // For root, `access` permits every file, so the write permissions in the file's mode are checked too.
            guard !attributes.isReadOnly, access(file, W_OK) == 0 else { throw error(path, "the file is read-only") }
            try checkFolder(of: file, path)
        case .vacant(let file): try checkFolder(of: file, path)
        }
    }

    private static func destination(_ path: String) throws -> FileDestination {
        do {
            return try FileDestination(at: URL(fileURLWithPath: path))
        } catch {
            throw OutputError(errorDescription: error.plainText)
        }
    }

    private static func checkFolder(of file: String, _ path: String) throws {
        let folder = (file as NSString).deletingLastPathComponent
        var status = stat()
        guard stat(folder.isEmpty ? "." : folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw error(path, "its folder does not exist")
        }
        guard access(folder.isEmpty ? "." : folder, W_OK | X_OK) == 0 else {
            throw error(path, "its folder cannot be written to")
        }
    }

    private static func error(_ path: String, _ reason: String) -> OutputError {
        OutputError(errorDescription: "\(path) cannot be written: \(reason)")
    }
}
