// Files that items and options name.

import CommandLanguage
import Foundation
import Glibc

/// Reads files of every kind: regular files, fifos, devices, and the `/dev/fd/N` that a shell makes of `<(…)`.
enum LocalFile {
    /// Reads the whole content of a file, or of standard input for `-`; throws `UsageError`.
    static func data(_ path: String) throws -> Data {
        let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw error(path) }
        defer { close(descriptor) }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw error(path) }
            guard count > 0 else { return data }
            data += buffer.prefix(count)
        }
    }

    /// Reads the content as UTF-8 text; throws `UsageError`.
    static func text(_ path: String, for name: String? = nil) throws -> String {
        guard let text = String(validating: try data(path), as: UTF8.self) else {
            let hint = name.map { "; send it with --form and \($0)@\(path)" } ?? ""
            throw UsageError(message: "\(path == "-" ? "standard input" : "the file \(path)") is not UTF-8 text\(hint)")
        }
        return text
    }

    /// Reads the content as UTF-8 text, without the line break at its end; throws `UsageError`.
    static func line(_ path: String, for name: String) throws -> String {
        var text = try text(path, for: name)
        if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
        return text
    }

    /// Whether a file is regular, so that it has a length and can be read again; throws `UsageError` for a folder, and
    /// for a file that cannot be read.
    static func isRegular(_ path: String) throws -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else { throw error(path) }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw UsageError(message: "\(path) is a folder, and not a file")
        }
        return status.st_mode & S_IFMT == S_IFREG
    }

    /// Returns the status of the file at a path, following links; `nil` without a file.
    static func status(_ path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    private static func error(_ path: String) -> UsageError {
        let reason = String(cString: strerror(errno))
        guard !path.isEmpty else { return UsageError(message: "there is no name of a file after the @") }
        return UsageError(message: "the file \(path) cannot be read: \(reason)")
    }
}

/// The parsed value of a file item, `path;type=TYPE;filename=NAME`.
struct FileReference: Equatable {
    let path: String
    let type: String?
    let fileName: String?

    /// Reads the value of a file item; a `;` in the name of an existing file is part of the name.
    init(_ text: String, exists: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }) {
        var (type, fileName): (String?, String?)
        var path = text
        while !exists(path), let semicolon = path.lastIndex(of: ";") {
            let parameter = path[path.index(after: semicolon)...]
            if parameter.hasPrefix("type=") {
                type = type ?? String(parameter.dropFirst(5))
            } else if parameter.hasPrefix("filename=") {
                fileName = fileName ?? String(parameter.dropFirst(9))
            } else {
                break
            }
            path = String(path[..<semicolon])
        }
        (self.path, self.type, self.fileName) = (path, type, fileName)
    }
}
