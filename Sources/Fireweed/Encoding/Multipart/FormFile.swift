// The file of a body part.

import FireweedTransport
import Foundation
import Glibc

/// The lengths of files in a form: a length must be known before the file is read.
enum FormFile {
    /// The file cannot be a body part.
    struct Refusal: Error {
        let reason: AFError.MultipartEncodingFailureReason
    }

    /// A file, or the target of a symbolic link, whatever its name.
    struct Identity: Sendable, Equatable {
        private let device: dev_t
        private let inode: ino_t
        let byteCount: UInt64

        /// Examines the file at a URL; `nil` if that is not possible.
        init?(_ file: URL) {
            BlockingCall.check("stat")
            var status = stat()
            guard stat(file.path, &status) == 0 else { return nil }
            (device, inode, byteCount) = (status.st_dev, status.st_ino, UInt64(max(0, status.st_size)))
        }

        static func == (left: Identity, right: Identity) -> Bool {
            left.device == right.device && left.inode == right.inode
        }
    }

    /// Returns the length of a file, or of the target of a symbolic link; `nil` if the attributes have no length.
    ///
    /// Throws ``Refusal`` unless it is a regular file: folders, pipes, devices and sockets have no length. Throws
    /// `POSIXError` if the target of a link cannot be examined.
    static func byteCount(of file: URL, _ attributes: [FileAttributeKey: Any]) throws -> UInt64? {
        switch attributes[.type] as? FileAttributeType {
        case nil, .typeRegular: return (attributes[.size] as? NSNumber)?.uint64Value
        case .typeSymbolicLink: break
        default: throw Refusal(reason: .bodyPartInputStreamCreationFailed(for: file))
        }
        // The attributes describe the link, not its target.
        BlockingCall.check("stat")
        var status = stat()
        guard stat(file.path, &status) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Refusal(reason: .bodyPartInputStreamCreationFailed(for: file))
        }
        return UInt64(status.st_size)
    }

    /// Returns the content of a file that the kernel generates, such as in /proc and /sys; `nil` for every other file.
    ///
    /// Also `nil` if the content has `byteCount` bytes, or if the file cannot be opened. Throws ``Refusal`` for content
    /// longer than `MultipartFormData.encodingMemoryThreshold`, and rethrows errors of reading.
    static func contentOfKernelFile(_ file: URL, byteCount: UInt64) throws -> Data? {
        BlockingCall.check("stat")
        var status = stat()
        guard stat(file.path, &status) == 0, KernelFile.mayBe(status) else { return nil }
        guard let handle = try? FileHandle(forReadingFrom: file) else { return nil }
        defer { try? handle.close() }
        let limit = Int(MultipartFormData.encodingMemoryThreshold)
        var content = Data()
        while let piece = try handle.read(upToCount: 64 * 1024), !piece.isEmpty {
            content += piece
            guard content.count <= limit else { throw Refusal(reason: .bodyPartFileSizeNotAvailable(at: file)) }
        }
        return content.count == byteCount ? nil : content
    }
}
