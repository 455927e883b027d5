// The file of curl's `-C`.

import Fireweed
import Foundation
import Glibc

/// A file that `-C` continues: responses append the missing bytes.
///
/// Content is written as it arrives, so that the same command can continue after an interruption.
struct CURLAppendedFile: Sendable {
    let path: String
    /// The offset of the first requested byte: the length of the file, or the number that `-C` names.
    let offset: Int64

    /// Whether a response is a 206 whose range of bytes begins at `offset`.
    func isContinued(by response: HTTPURLResponse) -> Bool {
        guard response.statusCode == 206, let range = response.value(forHTTPHeaderField: "Content-Range") else {
            return false
        }
        let first = range.drop { !$0.isNumber }.prefix { $0.isNumber }
        return range.lowercased().hasPrefix("bytes") && Int64(first) == offset
    }

    /// Opens the file to append to it; throws what opening throws.
    func open() throws -> Output {
        let handle = try Self.open(path, O_APPEND)
        // A device cannot seek, and has no end.
        return Output(handle: handle, end: try? handle.seekToEnd())
    }

    /// Opens the file at a path, following links, or creates it; throws `POSIXError`.
    ///
    /// `mode` is `O_APPEND` or `O_TRUNC`.
    static func open(_ path: String, _ mode: Int32) throws -> FileHandle {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | mode, 0o666)
        guard descriptor >= 0 else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// The open file.
    struct Output {
        fileprivate let handle: FileHandle
        fileprivate let end: UInt64?

        /// Appends content; throws what writing throws.
        func append(_ content: Data) throws { try handle.write(contentsOf: content) }

        /// Truncates a regular file to its length at opening, since a retry receives the content again; throws what
        /// truncating throws.
        func startAgain() throws {
            guard let end, isFile else { return }
            try handle.truncate(atOffset: end)
        }

        private var isFile: Bool {
            var status = stat()
            return fstat(handle.fileDescriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }
    }

    /// Writes heads and then the content of a temporary file to a path (`-i`), and removes the temporary file.
    ///
    /// Links are followed, and devices can be written to.
    ///
    /// Throws what reading and writing throw.
    static func write(_ heads: [[UInt8]], _ content: URL, to path: String) throws {
        defer { try? FileManager.default.removeItem(at: content) }
        let output = try open(path, O_TRUNC)
        try output.write(contentsOf: Data(heads.joined()))
        let input = try FileHandle(forReadingFrom: content)
        while let bytes = try input.read(upToCount: 1 << 20), !bytes.isEmpty { try output.write(contentsOf: bytes) }
        try output.close()
    }
}
