// The byte stream of a connection: plain or encrypted.

import CLinux
import Foundation
import Glibc

/// The byte stream of a connection: a plain socket, or TLS over a socket.
struct ByteChannel: ClosableChannel {
    /// The result of reading or writing.
    enum TransferResult {
        case bytes(Int)
        /// No bytes can be transferred now; epoll reports when the socket is ready again.
        case wouldBlock
        /// The peer has ended its side of the connection.
        case end
        /// The connection is lost.
        case failed(TransferFailure)
    }

    /// The socket.
    let descriptor: Int32
    /// The TLS stream over the socket; `nil` without TLS.
    let tls: TLSStream?

    /// Takes over a connected, non-blocking socket.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        tls = nil
    }

    /// Makes a channel over a TLS stream.
    init(_ tls: TLSStream) {
        descriptor = tls.descriptor
        self.tls = tls
    }

    /// Closes the socket; the channel must not be used afterwards.
    func close() {
        tls?.close()
        _ = Glibc.close(descriptor)
    }

    /// Reads the bytes that are available now, at most as many as fit into the buffer.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransferResult {
        if let tls { return tls.receive(into: buffer) }
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno != EINTR { return Self.outcome(of: errno) }
        }
    }

    /// Writes as much of `head`, and then of `content`, as the channel accepts in one call.
    func send(_ head: UnsafeRawBufferPointer, _ content: UnsafeRawBufferPointer) -> TransferResult {
        if let tls { return tls.send(head, content) }
        // Mutable pointers are safe here, because the kernel only reads these bytes.
        var parts = (
            iovec(iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress), iov_len: head.count),
            iovec(iov_base: UnsafeMutableRawPointer(mutating: content.baseAddress), iov_len: content.count)
        )
        return withUnsafeMutablePointer(to: &parts) { pointer in
            pointer.withMemoryRebound(to: iovec.self, capacity: 2) { vectors in
                var message = msghdr()
                message.msg_iov = head.isEmpty ? vectors + 1 : vectors
                message.msg_iovlen = head.isEmpty || content.isEmpty ? 1 : 2
                while true {
                    let count = sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
                    if count >= 0 { return .bytes(count) }
                    if errno != EINTR { return Self.outcome(of: errno) }
                }
            }
        }
    }

    /// Sends the bytes of a file from `offset` on, without a copy; usable only without TLS.
    ///
    /// Call this on the loop's thread, which blocks all signals: `sendfile` has no flag that suppresses SIGPIPE.
    ///
    /// - Returns: `nil` if the caller has to read the bytes instead, because the file has become shorter or cannot be
    ///   read, or because its file system does not support `sendfile`.
    func send(file: Int32, at offset: Int64, byteCount: Int) -> TransferResult? {
        assert(tls == nil)
        while true {
            var offset = off_t(offset)
            let count = sendfile(descriptor, file, &offset, byteCount)
            if count > 0 { return .bytes(count) }
            switch count == 0 ? EINVAL : errno {
            case EINTR: continue
            case EINVAL, ENOSYS, EIO: return nil
            case let error: return Self.outcome(of: error)
            }
        }
    }

    /// Whether bytes, the end of the stream or an error can be read now; an idle connection must have none of these.
    var hasSomethingToRead: Bool {
        if let tls { return tls.hasSomethingToRead }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EINTR)
    }

    /// Whether TLS has ended or failed, which epoll does not report again; false without TLS.
    var hasEnded: Bool { tls?.hasEnded ?? false }

    /// Sends the TLS records that the socket has not accepted yet; returns false if some are left.
    @discardableResult
    func flush() -> Bool { tls?.flush() ?? true }

    private static func outcome(of error: Int32) -> TransferResult {
        error == EAGAIN ? .wouldBlock : .failed(.connectionLost(error))
    }
}

extension TransferFailure {
    /// The error of a system call on a connected socket.
    fileprivate static func connectionLost(_ error: Int32) -> TransferFailure {
        .exchange(
            .networkConnectionLost, detail: "the connection was lost: \(String(cString: strerror(error)))",
            engineCode: Int(error))
    }
}
