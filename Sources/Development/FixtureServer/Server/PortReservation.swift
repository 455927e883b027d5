// Reserved ports, for programs that take their port as an argument.

import Glibc

/// A port of 127.0.0.1 that only a server with `SO_REUSEADDR` can listen on, until the last reference is gone.
///
/// A socket is bound to the port and never listens. Sockets without that option cannot be bound to the port, the kernel
/// never chooses the port for another socket, and no other reservation gets it. A server that is told the port can
/// listen on it repeatedly. While no server listens, connections are refused.
public final class PortReservation: Sendable {
    /// The port.
    public let number: UInt16
    private let descriptor: Int32

    /// Reserves a port that is free.
    public init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ServerError(description: "no socket: errno \(errno)") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var yes: Int32 = 1
        let isReserved = withUnsafeMutableBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            // The option is set after bind: the kernel then chooses a port that no other socket has, and shares the
            // port afterwards with sockets that have the option and listen later (socket(7)).
            return bind(descriptor, pointer, length) == 0
                && setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size)) == 0
                && getsockname(descriptor, pointer, &length) == 0
        }
        guard isReserved else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw ServerError(description: "no port can be reserved: \(reason)")
        }
        self.descriptor = descriptor
        number = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
