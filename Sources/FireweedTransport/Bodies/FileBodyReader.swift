// A file as the content of a request.

import CLinux
public import Foundation
import Glibc

/// Reads a file from its start to the length that it had when it was opened.
public final class FileBodyReader: BodyReader {
    /// The length of the file in bytes when it was opened.
    public let byteCount: Int64?
    /// The open file; its position is where the next bytes are.
    let descriptor: Int32

    /// Opens a file; throws `CocoaError` when it cannot be opened or is no regular file.
    public init(opening url: URL) throws {
        let opened = open(url.path, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else {
            let code: CocoaError.Code = errno == ENOENT ? .fileReadNoSuchFile : .fileReadNoPermission
            throw CocoaError(code, userInfo: [NSFilePathErrorKey: url.path])
        }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(opened)
            throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: url.path])
        }
        descriptor = opened
        byteCount = Int64(status.st_size)
    }

    deinit {
        close(descriptor)
    }

    /// Reads the next bytes; throws `POSIXError` when the file cannot be read.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        }
    }

    /// Reads what the kernel has in memory; any error is left to `read(into:)` to find.
    public func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count = fw_read_cached(descriptor, buffer.baseAddress, buffer.count)
        return count >= 0 ? count : nil
    }

    /// How many of the next bytes the kernel has in memory: 128 KiB or the limit, or none.
    ///
    /// The kernel reads ahead so much at least: the first and the last byte stand for those between.
    func cachedByteCount(limit: Int) -> Int {
        let count = min(limit, 128 * 1024)
        let isCached = fw_has_cached(descriptor, 0) != 0 && fw_has_cached(descriptor, off_t(count - 1)) != 0
        return isCached ? count : 0
    }

    /// Waits until the kernel has a part of the file in memory; any error is left for the read that follows.
    func readAhead(_ part: Range<Int64>) {
        // Without a copy, and with the kernel's own reading ahead, which is larger than what posix_fadvise(3) asks for.
        var offset = off_t(part.lowerBound)
        while offset < part.upperBound {
            let count = sendfile(Self.nullDevice, descriptor, &offset, Int(part.upperBound) - offset)
            guard count > 0 || (count < 0 && errno == EINTR) else { return }
        }
    }

    private static let nullDevice = open("/dev/null", O_WRONLY | O_CLOEXEC)
}
