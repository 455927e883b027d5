// The files that a curl command names.

import Foundation

/// Reads the files that a command names, if reading is allowed.
struct CURLFiles {
    /// The folder that relative paths start from; `nil` forbids reading.
    let folder: URL?

    /// The content of a file; `-`, standard input, is never read.
    func content(of path: String, for option: String) throws -> [UInt8] {
        let url = try url(of: path, for: option)
        guard let data = FileManager.default.contents(atPath: url.path) else {
            throw CURLParsingError.unreadableFile(option: option, path: path)
        }
        return Array(data)
    }

    /// The URL of a file; throws when reading is not allowed.
    func url(of path: String, for option: String) throws -> URL {
        guard let folder, path != "-" else { throw CURLParsingError.fileNotRead(option: option, path: path) }
        return path.hasPrefix("/") ? URL(fileURLWithPath: path) : folder.appendingPathComponent(path)
    }
}
