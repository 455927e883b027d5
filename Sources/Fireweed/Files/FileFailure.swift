// Errors of file operations, with readable descriptions.

import FireweedTransport
import Foundation
import Glibc

/// A failed call on a file: which file, which call, and the kernel's reason.
package struct FileFailure: Error {
    enum Operation {
        case create, write
    }

    let operation: Operation
    let file: URL
    let code: Int32

    /// The failure of the last system call, with the present `errno`.
    static func current(_ operation: Operation, _ file: URL) -> FileFailure {
        FileFailure(operation: operation, file: file, code: errno)
    }

    var urlErrorCode: URLError.Code { operation == .create ? .cannotCreateFile : .cannotWriteToFile }

    var posixError: POSIXError { POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }

    package var text: String {
        let what = operation == .create ? "could not be created" : "could not be written"
        return "\(file.path) \(what): \(Self.text(of: posixError))"
    }

    /// The error that users see, with the kernel's error as its underlying error.
    var urlError: URLError {
        URLError(
            urlErrorCode,
            userInfo: [
                NSLocalizedDescriptionKey: text, NSFilePathErrorKey: file.path, NSUnderlyingErrorKey: posixError,
            ])
    }

    /// The failure as a `CocoaError`, with the code that `FileManager` gives for a failed move; thrown for failed
    /// writes too.
    var cocoaError: CocoaError {
        let code: CocoaError.Code =
            switch self.code {
            case EEXIST, EISDIR, ESOCKTNOSUPPORT: .fileWriteFileExists
            case ENOSPC, EDQUOT: .fileWriteOutOfSpace
            case ENOENT: .fileNoSuchFile
            case EACCES, EPERM: .fileWriteNoPermission
            case EROFS: .fileWriteVolumeReadOnly
            default: .fileWriteUnknown
            }
        return CocoaError(
            code,
            userInfo: [
                NSLocalizedDescriptionKey: text, NSFilePathErrorKey: file.path, NSUnderlyingErrorKey: posixError,
            ])
    }

    /// The failure with which the attempt ends.
    var transferFailure: TransferFailure { .exchange(urlErrorCode, detail: text, engineCode: Int(code)) }

    /// The kernel's reason in words.
    static func text(of error: any Error) -> String {
        guard let code = (error as? POSIXError)?.code else { return error.plainText }
        return switch code {
        case .ENOSPC: "the disk is full"
        case .EDQUOT: "the quota is used up"
        case .EFBIG: "the file would be larger than is allowed"
        case .ENOENT: "its folder does not exist"
        case .ENOTDIR: "a part of its path is no folder"
        case .EACCES, .EPERM: "that is not permitted"
        case .EROFS: "the file system is read-only"
        case .EEXIST: "something is there already"
        case .EISDIR: "a folder is there"
        case .ESOCKTNOSUPPORT: "a socket is there"
        case .ENXIO: "nothing reads from the pipe that is there"
        case .ELOOP: "a symbolic link is there"
        case .EINVAL: "its URL has not the scheme file"
        default: String(cString: strerror(code.rawValue))
        }
    }
}

extension FileFailure: LocalizedError {
    package var errorDescription: String? { text }
}
