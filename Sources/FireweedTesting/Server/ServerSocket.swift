// Sockets of servers on loopback.

public import Foundation
import Glibc

/// Listening sockets on 127.0.0.1.
package enum ServerSocket {
    /// Listens on a port, or for port 0 on a free one; returns the descriptor and the port.
    package static func listen(port: UInt16 = 0) throws -> (descriptor: Int32, port: UInt16) {
        try bound(to: port, purpose: "listen on") { descriptor, bind in
            // With SO_REUSEADDR, a restarted server can bind its port while old connections are in TIME_WAIT.
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            return bind() && Glibc.listen(descriptor, 4096) == 0
        }
    }

    /// Makes a socket, lets `prepare` bind it, and reads its port.
    private static func bound(
        to port: UInt16, purpose: String, by prepare: (_ descriptor: Int32, _ bind: () -> Bool) -> Bool
    ) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            throw MockServerError(description: "no socket: \(String(cString: strerror(errno)))")
        }
        var address = loopback(port: port)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return prepare(descriptor) { Glibc.bind(descriptor, pointer, length) == 0 }
                && getsockname(descriptor, pointer, &length) == 0
        }
        guard isBound else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw MockServerError(description: "cannot \(purpose) 127.0.0.1: \(reason)")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// Listens on a Unix-domain socket at a path of at most 107 bytes.
    package static func listen(path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            throw MockServerError(description: "no socket: \(String(cString: strerror(errno)))")
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            close(descriptor)
            throw MockServerError(description: "cannot listen at \(path): the path is too long")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.checkedCopy(from: path.utf8) }
        let isListening = withUnsafeBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return bind(descriptor, pointer, socklen_t(bytes.count)) == 0 && Glibc.listen(descriptor, 4096) == 0
        }
        guard isListening else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw MockServerError(description: "cannot listen at \(path): \(reason)")
        }
        return descriptor
    }

    /// Connects to a port of 127.0.0.1; `nil` when the connection is refused.
    package static func connect(to port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = loopback(port: port)
        let isConnected = withUnsafeBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
        if isConnected { return descriptor }
        close(descriptor)
        return nil
    }

    /// Returns the port of 127.0.0.1 that refuses connections; every call returns the same port.
    ///
    /// A socket of this process is bound to the port without `SO_REUSEADDR`, so that no other socket can be bound to
    /// it, and never listens. The socket stays open until the process ends, since a test may use the URL at any time.
    static func refusingPort() throws -> UInt16 { try refusing.get() }

    private static let refusing = Result { try bound(to: 0, purpose: "bind to") { _, bind in bind() }.port }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}

extension MockServer {
    /// A URL at which every connection is refused, as long as the process runs: no server can take its port.
    ///
    /// The host and the port are the same for every call in a process.
    ///
    /// - Throws: `MockServerError` when no port can be bound.
    public static func refusingURL(_ path: String = "/") throws -> URL {
        URL(string: "http://127.0.0.1:\(try ServerSocket.refusingPort())\(path)")
            ?? URL(fileURLWithPath: "/")
    }
}

/// The bytes of one connection, in clear text or over TLS; one thread may read while another one writes.
package protocol ServerStream: AnyObject {
    /// Reads the available bytes, waiting for at least one; 0 at the end, and when the connection is lost.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int
    /// Sends everything; false when the connection is lost.
    func write(_ bytes: Data) -> Bool
    /// Ends the sending side: by close_notify over TLS, else by shutdown(2).
    func end()
}

/// Bytes in clear text.
final class PlainStream: ServerStream {
    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            return max(0, count)
        }
    }

    func write(_ bytes: Data) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let sent = send(
                    descriptor, bytes.baseAddress.map { $0 + offset }, bytes.count - offset,
                    Int32(MSG_NOSIGNAL))
                if sent < 0, errno == EINTR { continue }
                guard sent > 0 else { return false }
                offset += sent
            }
            return true
        }
    }

    func end() { shutdown(descriptor, Int32(SHUT_WR)) }
}

extension Int32 {
    /// Whether this descriptor has one of these events, an error or a hang-up (poll(2)) within this many milliseconds.
    func hasEvents(_ events: Int16, within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: self, events: events, revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    /// Makes a later `close` of this socket's descriptor reset the connection (RST).
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}
