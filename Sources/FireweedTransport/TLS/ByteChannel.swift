// The byte stream below a connection: plain or encrypted.

import CLinux
import Foundation
import Glibc

/// The bytes of a connection: a socket's own, or those that TLS carries over it.
struct ByteChannel: ClosableChannel {
    /// The result of reading or writing.
    enum TransferResult {
        case bytes(Int)
        /// The socket says when it is ready again.
        case wouldBlock
        /// The peer sends nothing more.
        case end
        /// The connection is lost.
        case failed(TransferFailure)
    }

    /// The socket.
    let descriptor: Int32
    /// TLS over the socket, if there is any.
    let tls: TLSStream?

    /// Takes over a connected socket that does not block.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        tls = nil
    }

    /// The bytes that TLS carries.
    init(_ tls: TLSStream) {
        descriptor = tls.descriptor
        self.tls = tls
    }

    /// Closes the socket; nothing may be called after that.
    func close() {
        tls?.close()
        _ = Glibc.close(descriptor)
    }

    /// Reads what is there.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransferResult {
        if let tls { return tls.receive(into: buffer) }
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno != EINTR { return Self.outcome(of: errno) }
        }
    }

    /// Writes the first bytes of two pieces, in one call.
    func send(_ head: UnsafeRawBufferPointer, _ content: UnsafeRawBufferPointer) -> TransferResult {
        if let tls { return tls.send(head, content) }
        // The kernel does not write through the pointers.
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

    /// Sends the next bytes of a file without a copy, and moves its position on; only without TLS.
    ///
    /// Called on the loop, whose thread takes no signals: `sendfile` has no flag against SIGPIPE.
    ///
    /// - Returns: `nil` where the bytes have to be read: the file has become shorter or cannot be read, or its file
    ///   system has no way from its pages to a socket.
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

    /// Whether bytes, an end or an error wait to be read: on an idle connection none of them may.
    var hasSomethingToRead: Bool {
        if let tls { return tls.hasSomethingToRead }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EINTR)
    }

    /// Whether reading has come to an end that the socket tells no more of.
    var hasEnded: Bool { tls?.hasEnded ?? false }

    /// Sends what TLS has taken and the socket has not; false when something is left.
    @discardableResult
    func flush() -> Bool { tls?.flush() ?? true }

    private static func outcome(of error: Int32) -> TransferResult {
        error == EAGAIN ? .wouldBlock : .failed(.connectionLost(error))
    }
}

extension TransferFailure {
    /// A call for a connected socket failed.
    fileprivate static func connectionLost(_ error: Int32) -> TransferFailure {
        .exchange(
            .networkConnectionLost, detail: "the connection was lost: \(String(cString: strerror(error)))",
            engineCode: Int(error))
    }
}
