// A file as the content of a request.

import CLinux
public import Foundation
import Glibc

/// Reads a file from its start to the length that it had when it was opened, or a pipe until its last writer closes it.
public final class FileBodyReader: BodyReader, @unchecked Sendable {
    /// The length of the file in bytes when it was opened; `nil` for a pipe, and for a file whose length is unknown
    /// before it is read, such as a file of /proc.
    public var byteCount: Int64? { file.byteCount }
    private let file: OpenFile
    // SAFETY: only one read at a time uses the offset, and `skip` is called between reads.
    /// The offset of the next bytes in a regular file.
    private(set) var offset: Int64 = 0

    var descriptor: Int32 { file.descriptor }

    /// Opens a file or a pipe; may block on a disk or a server, so an upload's file is opened on another thread.
    ///
    /// In a debug build it traps on an event loop: ``BodySource/reader(make:)`` of an `EngineTransport` must not open
    /// files.
    ///
    /// Throws `URLError`: `.fileDoesNotExist`, `.fileIsDirectory`, `.noPermissionsToReadFile`, or `.cannotOpenFile` for
    /// other reasons, such as a device or a socket.
    public init(opening url: URL) throws {
        file = try OpenFile(url)
    }

    init(_ file: OpenFile) {
        self.file = file
    }

    /// Reads the next bytes; for a pipe, waits for its writers until `stop()`.
    ///
    /// Throws `POSIXError` if the file cannot be read.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = try file.read(at: offset, into: buffer)
        offset += Int64(count)
        return count
    }

    /// Reads the next bytes if the kernel has them in memory; returns `nil` on an error too, which `read(into:)` then
    /// reports.
    public func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard !file.isPipe else { return nil }
        let count = fw_read_cached(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        guard count >= 0 else { return nil }
        offset += Int64(count)
        return count
    }

    /// Ends a read that is waiting for the writers of a pipe.
    public func stop() {
        file.stop()
    }

    /// Advances past bytes that were sent without being read.
    func skip(_ byteCount: Int) {
        offset += Int64(byteCount)
    }

    /// Returns how many of the next bytes the kernel has in memory: the limit but at most 128 KiB, or 0.
    ///
    /// Only the first and the last byte are checked, since the kernel reads ahead at least 128 KiB.
    func cachedByteCount(limit: Int) -> Int {
        let count = min(limit, 128 * 1024)
        let last = off_t(offset) + off_t(count - 1)
        return fw_has_cached(descriptor, off_t(offset)) != 0 && fw_has_cached(descriptor, last) != 0 ? count : 0
    }

    /// Waits until the kernel has a part of the file in memory; the next read reports any error.
    func readAhead(_ part: Range<Int64>) {
        // `sendfile` to the null device copies nothing, and reads more ahead than posix_fadvise(3).
        var offset = off_t(part.lowerBound)
        while offset < part.upperBound {
            let count = sendfile(Self.nullDevice, descriptor, &offset, Int(part.upperBound) - offset)
            guard count > 0 || (count < 0 && errno == EINTR) else { return }
        }
    }

    private static let nullDevice = open("/dev/null", O_WRONLY | O_CLOEXEC)
}
