// Sockets that listen on loopback.

import Glibc

/// A server could not be started; the text says why.
public struct ServerError: Error, CustomStringConvertible {
    /// Why.
    public let description: String
}

/// The two loopback addresses.
public enum LoopbackAddress: String, Sendable {
    /// 127.0.0.1
    case ipv4 = "127.0.0.1"
    /// ::1
    case ipv6 = "[::1]"
}

/// Listening sockets on 127.0.0.1 or in the file system.
enum LoopbackSocket {
    /// Listens on a port, or on any free one for 0.
    ///
    /// Returns the descriptor and the port.
    static func listen(port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ServerError(description: "no socket: errno \(errno)") }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutableBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return bind(descriptor, pointer, length) == 0 && Glibc.listen(descriptor, 4096) == 0
                && getsockname(descriptor, pointer, &length) == 0
        }
        guard isListening else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw ServerError(description: "cannot listen on 127.0.0.1:\(port): \(reason)")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

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

    /// Listens on a Unix-domain socket at a path of at most 107 bytes.
    static func listen(path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard descriptor >= 0, path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw ServerError(description: "no socket at \(path)")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isListening = withUnsafeBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return bind(descriptor, pointer, length) == 0 && Glibc.listen(descriptor, 128) == 0
        }
        guard isListening else {
            close(descriptor)
            throw ServerError(description: "cannot listen at \(path): \(String(cString: strerror(errno)))")
        }
        return descriptor
    }
}
