// The files that a curl command names.

import Foundation

/// Reads them, where that is allowed.
struct CURLFiles {
    /// Where relative paths begin; `nil` forbids reading.
    let folder: URL?
    let standardInput: [UInt8]?

    /// The content of a file; `-` is standard input, as far as the command itself says what that is.
    func content(of path: String, for option: String) throws -> [UInt8] {
        if path == "-", let standardInput { return standardInput }
        let url = try url(of: path, for: option)
        guard let data = FileManager.default.contents(atPath: url.path) else {
            throw CURLParsingError.unreadableFile(option: option, path: path)
        }
        return Array(data)
    }

    /// The place of a file that may be read.
    func url(of path: String, for option: String) throws -> URL {
        guard let folder, path != "-" else { throw CURLParsingError.fileNotRead(option: option, path: path) }
        return path.hasPrefix("/") ? URL(fileURLWithPath: path) : folder.appendingPathComponent(path)
    }
}
