// The file of a body part.

import FireweedTransport
import Foundation
import Glibc

/// The length of a file that is to be sent in a form, which has to be known before the file is read.
enum FormFile {
    /// The file cannot be a body part.
    struct Refusal: Error {
        let reason: AFError.MultipartEncodingFailureReason
    }

    /// The length of a file, or of the file behind a symbolic link; `nil` where the attributes have none.
    ///
    /// Throws ``Refusal`` for a pipe, a device and a socket, which have no length, and `POSIXError`.
    static func byteCount(of file: URL, _ attributes: [FileAttributeKey: Any]) throws -> UInt64? {
        switch attributes[.type] as? FileAttributeType {
        case nil, .typeRegular: return (attributes[.size] as? NSNumber)?.uint64Value
        case .typeSymbolicLink: break
        default: throw Refusal(reason: .bodyPartInputStreamCreationFailed(for: file))
        }
        // The attributes are those of the link.
        BlockingCall.check("stat")
        var status = stat()
        guard stat(file.path, &status) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Refusal(reason: .bodyPartInputStreamCreationFailed(for: file))
        }
        return UInt64(status.st_size)
    }

    /// The content of a file that the kernel makes, such as those of /proc and /sys; `nil` for every other file, whose
    /// length is `byteCount`.
    ///
    /// Throws ``Refusal`` for a file that is longer than a form may be in memory, and the error of a read.
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
