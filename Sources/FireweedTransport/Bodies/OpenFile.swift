// An open file whose content is to be sent.

import CLinux
import Foundation
import Glibc
import Synchronization

/// A regular file or a pipe, opened to send its content.
///
/// An exchange opens its file once. Several readers may read a regular file, each from its start; a pipe has only one
/// reader.
final class OpenFile: Sendable {
    /// The length of a regular file when it was opened; `nil` for a pipe, and for a file whose content the kernel
    /// generates, such as a file of /proc.
    let byteCount: Int64?
    let descriptor: Int32
    /// Becomes readable when reading of the pipe must stop; -1 for a regular file.
    let stopDescriptor: Int32
    private let isTaken = Atomic<Bool>(false)

    var isPipe: Bool { stopDescriptor >= 0 }

    /// Opens a file; may block on a disk or a server.
    ///
    /// Throws `URLError`: `.fileDoesNotExist`, `.fileIsDirectory`, `.noPermissionsToReadFile` or `.cannotOpenFile`.
    init(_ url: URL) throws {
        BlockingCall.check("open")
        // O_NONBLOCK: opening a pipe does not wait for a writer. The reader waits for it instead, and can be stopped.
        let opened = Descriptors.make { open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) }
        guard opened >= 0 else { throw URLError.unreadable(url, code: errno) }
        do {
            (byteCount, stopDescriptor) = try Self.examine(opened, of: url)
        } catch {
            close(opened)
            throw error
        }
        descriptor = opened
    }

    deinit {
        close(descriptor)
        if isPipe { close(stopDescriptor) }
    }

    private static func examine(_ opened: Int32, of url: URL) throws -> (byteCount: Int64?, stopDescriptor: Int32) {
        var status = stat()
        guard fstat(opened, &status) == 0 else { throw URLError.unreadable(url, code: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            let isMade = try KernelFile.mayBe(status) && count(opened, of: url, limit: status.st_size) != status.st_size
            return (isMade ? nil : Int64(status.st_size), -1)
        case S_IFIFO:
            let stop = Descriptors.make { eventfd(0, Int32(EFD_CLOEXEC)) }
            guard stop >= 0 else { throw URLError.unreadable(url, code: errno) }
            return (nil, stop)
        case S_IFDIR: throw URLError.unreadable(url, code: EISDIR)
        default: throw URLError.unreadable(url, code: ENOTSUP)
        }
    }

    /// Returns the number of bytes in the file; stops counting above `limit`.
    private static func count(_ opened: Int32, of url: URL, limit: Int) throws -> Int {
        BlockingCall.check("pread")
        var total = 0
        // Reads whole pages, because some kernel files refuse other sizes.
        return try withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { space in
            while total <= limit {
                let count = pread(opened, space.baseAddress, space.count, off_t(total))
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw URLError.unreadable(url, code: errno) }
                if count == 0 { break }
                total += count
            }
            return total
        }
    }

    /// Makes a reader from the start of the file; throws `URLError.requestBodyStreamExhausted` for the second reader of
    /// a pipe.
    func makeReader() throws -> FileBodyReader {
        let isFirst = !isTaken.exchange(true, ordering: .acquiringAndReleasing)
        guard isFirst || !isPipe else { throw URLError(.requestBodyStreamExhausted) }
        return FileBodyReader(self)
    }

    /// Reads a part of the file, or the next bytes of a pipe; 0 means the end.
    ///
    /// Waits for the disk, or for the pipe's writers. Throws `POSIXError`.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        BlockingCall.check("read")
        while true {
            if isPipe { try awaitPipe() }
            let count =
                isPipe
                ? Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                : pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR || errno == EAGAIN else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        }
    }

    /// Waits for bytes of a pipe, or for its end: its last writer has closed it, after at least one writer has opened
    /// it.
    private func awaitPipe() throws {
        var events = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stopDescriptor, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&events, 2, -1) < 0, errno == EINTR {}
        if events[1].revents != 0 { throw POSIXError(.ECANCELED) }
    }

    /// Ends a wait for a pipe.
    func stop() {
        if isPipe { eventfd_write(stopDescriptor, 1) }
    }
}

extension URLError {
    /// The error for a file that cannot be opened, with the same code as in URLSession of Apple's platforms.
    fileprivate static func unreadable(_ url: URL, code: Int32) -> URLError {
        let (name, reason): (URLError.Code, String) =
            switch code {
            case ENOENT: (.fileDoesNotExist, "it does not exist")
            case ENOTDIR: (.fileDoesNotExist, "a part of its path is no folder")
            case EISDIR: (.fileIsDirectory, "it is a folder")
            case EACCES, EPERM: (.noPermissionsToReadFile, "that is not permitted")
            case ENOTSUP: (.cannotOpenFile, "it is no regular file and no pipe")
            default: (.cannotOpenFile, String(cString: strerror(code)))
            }
        return URLError(
            name,
            userInfo: [
                NSLocalizedDescriptionKey: "\(url.path) could not be read: \(reason)", NSFilePathErrorKey: url.path,
                NSUnderlyingErrorKey: POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO),
            ])
    }
}
