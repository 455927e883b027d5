// The reading of whole files.

package import Foundation
import Glibc

/// Reads whole regular files.
package enum FileContent {
    /// Reads a file; throws `CocoaError` if the file cannot be read, or is not a regular file.
    ///
    /// A pipe or a device may never end, and opening a pipe would wait for a writer. `Data(contentsOf:)` of
    /// swift-foundation 6.3 leaks 4 KiB for each empty file that it reads.
    package static func read(_ url: URL) throws -> Data {
        BlockingCall.check("open")
        let descriptor = Descriptors.make { open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) }
        guard descriptor >= 0 else { throw error(errno, url) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw error(errno, url) }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG else { throw error(kind == S_IFDIR ? EISDIR : ENOTSUP, url) }
        // Files of /proc report a length of 0, so the piece has at least 4,096 bytes.
        var piece = [UInt8](repeating: 0, count: min(max(Int(status.st_size), 4096), 1 << 20))
        var content = Data(capacity: Int(status.st_size))
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw error(errno, url) }
            guard count > 0 else { return content }
            content.append(contentsOf: piece[..<count])
        }
    }

    private static func error(_ code: Int32, _ url: URL) -> CocoaError {
        let name: CocoaError.Code =
            switch code {
            case ENOENT, ENOTDIR: .fileReadNoSuchFile
            case EACCES, EPERM: .fileReadNoPermission
            default: .fileReadUnknown
            }
        let cause = POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
        return CocoaError(name, userInfo: [NSFilePathErrorKey: url.path, NSUnderlyingErrorKey: cause])
    }
}
