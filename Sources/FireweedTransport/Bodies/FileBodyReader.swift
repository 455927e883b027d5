// A file as the content of a request.

import CLinux
public import Foundation
import Glibc

/// Reads a file from its start to the length that it had when it was opened, or a pipe until its writers have gone.
public final class FileBodyReader: BodyReader, @unchecked Sendable {
    /// The length of the file in bytes when it was opened; `nil` for a pipe, and for a file whose length is not known
    /// before it is read, such as those of /proc.
    public var byteCount: Int64? { file.byteCount }
    private let file: OpenFile
    // SAFETY: one read at a time touches the offset, and `skip` is called between two reads.
    /// The offset of the next bytes in a regular file.
    private(set) var offset: Int64 = 0

    var descriptor: Int32 { file.descriptor }

    /// Opens a file or a pipe, which may wait for a disk or a server: an upload's file is opened on another thread.
    ///
    /// On an event loop it ends a debug build: ``BodySource/reader(make:)`` of an `EngineTransport` may not open files.
    ///
    /// Throws `URLError`: `.fileDoesNotExist`, `.fileIsDirectory`, `.noPermissionsToReadFile`, or `.cannotOpenFile` for
    /// anything else, such as a device or a socket.
    public init(opening url: URL) throws {
        file = try OpenFile(url)
    }

    init(_ file: OpenFile) {
        self.file = file
    }

    /// Reads the next bytes; waits for the writers of a pipe, until `stop()`.
    ///
    /// Throws `POSIXError` when the file cannot be read.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = try file.read(at: offset, into: buffer)
        offset += Int64(count)
        return count
    }

    /// Reads the next bytes if the kernel has them in memory; any error is left for `read(into:)` to find.
    public func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard !file.isPipe else { return nil }
        let count = fw_read_cached(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        guard count >= 0 else { return nil }
        offset += Int64(count)
        return count
    }

    /// Ends a read that waits for the writers of a pipe.
    public func stop() {
        file.stop()
    }

    /// Skips bytes that were sent without being read.
    func skip(_ byteCount: Int) {
        offset += Int64(byteCount)
    }

    /// How many of the next bytes the kernel has in memory: 128 KiB or the limit, whichever is less, or none.
    ///
    /// The kernel reads ahead at least 128 KiB, so only the first and the last byte are checked.
    func cachedByteCount(limit: Int) -> Int {
        let count = min(limit, 128 * 1024)
        let last = off_t(offset) + off_t(count - 1)
        return fw_has_cached(descriptor, off_t(offset)) != 0 && fw_has_cached(descriptor, last) != 0 ? count : 0
    }

    /// Waits until the kernel has a part of the file in memory; any error is left for the read that follows.
    func readAhead(_ part: Range<Int64>) {
        // `sendfile` makes no copy, and uses the kernel's own read-ahead, which is larger than that of
        // posix_fadvise(3).
        var offset = off_t(part.lowerBound)
        while offset < part.upperBound {
            let count = sendfile(Self.nullDevice, descriptor, &offset, Int(part.upperBound) - offset)
            guard count > 0 || (count < 0 && errno == EINTR) else { return }
        }
    }

    private static let nullDevice = open("/dev/null", O_WRONLY | O_CLOEXEC)
}
