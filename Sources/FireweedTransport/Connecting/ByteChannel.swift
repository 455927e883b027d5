// What a connection sends and receives its bytes through.

import CLinux
import Glibc

/// The bytes of a connection: a socket's own.
///
/// TLS becomes a second case, whose engine stands between the connection and the socket.
struct ByteChannel {
    /// What a call did.
    enum Outcome: Equatable {
        case bytes(Int)
        /// The socket says when it is ready again.
        case wouldBlock
        /// The peer sends nothing more.
        case end
        /// The errno of the call.
        case failed(Int32)
    }

    /// The socket.
    let descriptor: Int32

    /// Takes over a connected socket that does not block.
    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Closes the socket; nothing may be called after that.
    func close() {
        _ = Glibc.close(descriptor)
    }

    /// Reads what is there.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno != EINTR { return Self.outcome(of: errno) }
        }
    }

    /// Writes the first bytes of two pieces, in one call.
    func send(_ head: UnsafeRawBufferPointer, _ content: UnsafeRawBufferPointer) -> Outcome {
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

    /// Whether bytes, an end or an error wait to be read: on an idle connection none of them may.
    var hasSomethingToRead: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EINTR)
    }

    private static func outcome(of error: Int32) -> Outcome {
        error == EAGAIN ? .wouldBlock : .failed(error)
    }
}
