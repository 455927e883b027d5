// Sockets that listen on loopback.

import Glibc

/// A server could not be started; the text says why.
public struct ServerError: Error, CustomStringConvertible {
    /// The reason.
    public let description: String
}

/// The two loopback addresses.
public enum LoopbackAddress: String, Sendable {
    /// 127.0.0.1
    case ipv4 = "127.0.0.1"
    /// ::1
    case ipv6 = "[::1]"
}

/// Loopback sockets that `ServerSocket` cannot make.
enum LoopbackSocket {
    /// Listens on a free port of ::1.
    static func listenIPv6() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ServerError(description: "no IPv6 socket: errno \(errno)") }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isListening = withUnsafeMutableBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return bind(descriptor, pointer, length) == 0 && Glibc.listen(descriptor, 4096) == 0
                && getsockname(descriptor, pointer, &length) == 0
        }
        guard isListening else {
            close(descriptor)
            throw ServerError(description: "cannot listen on ::1: \(String(cString: strerror(errno)))")
        }
        return (descriptor, UInt16(bigEndian: address.sin6_port))
    }
}
