// Counts what comes over TLS while nothing of any transfer moves.

import CLinux
import COpenSSL
import Glibc

/// How often something of any transfer of a pool has moved, and what was refused for want of movement.
///
/// On the loop's thread.
final class MovementMeter {
    var count = 0
    /// The local port of the connection that was closed last because of too many bytes that are nothing; 0 for none.
    var refusedPort = 0
}

/// What may come on a connection although nothing moves.
protocol FramingRules: AnyObject {
    /// How much libcurl may keep of what comes on the connection with this local port before it hands anything on;
    /// `nil` for any amount.
    func heldByteCount(onPort port: Int) -> Int?
    /// Whether what this connection receives can be what was on its way for transfers that we have ended.
    func isExcused(_ descriptor: Int32) -> Bool
}

/// Closes a connection on which more comes than a limit allows without anything moving.
///
/// libcurl 7.88 reads frames of HTTP/2 for as long as there are some, in one call: a server that floods us with them
/// would keep the loop for ever. Only from inside that call can it be ended, so this is told of every TLS record.
final class RecordGauge {
    private let descriptor: Int32
    private let inode: UInt
    private let limit: Int
    private let meter: MovementMeter
    private weak var rules: (any FramingRules)?
    private var byteCount = 0
    /// The limit, and what was found to be allowed beyond it since something moved last.
    private var bound: Int
    private var lastCount: Int

    init(_ socket: OpenedSocket, limit: Int, meter: MovementMeter, rules: any FramingRules) {
        descriptor = socket.descriptor
        inode = socket.inode
        self.limit = limit
        self.meter = meter
        self.rules = rules
        bound = limit
        lastCount = meter.count
    }

    /// Lets OpenSSL tell of the records of an `SSL_CTX`, which keeps the gauge.
    func install(on context: UnsafeMutableRawPointer) {
        let context = OpaquePointer(context)
        let owner = Unmanaged.passRetained(self).toOpaque()
        SSL_CTX_set_ex_data(context, Self.index, owner)
        SSL_CTX_set_msg_callback(context, recordPassed)
    }

    fileprivate static let index = fw_ssl_ctx_index(releaseGauge)

    fileprivate func received(_ count: Int) {
        if meter.count != lastCount {
            lastCount = meter.count
            byteCount = 0
            bound = limit
        }
        byteCount += count
        guard byteCount > bound, let rules else { return }
        let port = LocalPort.of(descriptor)
        bound = rules.heldByteCount(onPort: port).map { limit + $0 } ?? .max
        guard byteCount > bound, OpenedSocket(descriptor)?.inode == inode else { return }
        byteCount = 0
        guard !rules.isExcused(descriptor) else { return }
        meter.refusedPort = port
        // More of the peer's bytes now reset the connection (RFC 1122 §4.2.2.13), and libcurl's reading ends.
        shutdown(descriptor, Shutdown.both)
    }
}

/// A socket that will be known again, though its number may be another's by then.
struct OpenedSocket: Sendable {
    let descriptor: Int32
    let inode: UInt

    /// `nil` when the descriptor is not open.
    init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.descriptor = descriptor
        inode = UInt(status.st_ino)
    }

    /// Whether it is still the same socket, and open.
    var isOpen: Bool { OpenedSocket(descriptor)?.inode == inode }

    /// Whether the peer has closed or reset the connection; the socket is then readable until it is closed.
    var isEndedByPeer: Bool {
        guard isOpen else { return false }
        // POLLRDHUP has the same value, and is missing from Swift's Glibc.
        var state = pollfd(fd: descriptor, events: Int16(EPOLLRDHUP.rawValue), revents: 0)
        return poll(&state, 1, 0) == 1
    }
}

/// Ports of sockets.
enum LocalPort {
    /// The local port of an Internet socket; 0 when there is none.
    static func of(_ descriptor: Int32) -> Int {
        var address = sockaddr_in6()  // the port of `sockaddr_in` stands in the same place
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = withUnsafeMutableBytes(of: &address) { bytes in
            bytes.bindMemory(to: sockaddr.self).baseAddress.map { getsockname(descriptor, $0, &length) }
        }
        return status == 0 ? Int(UInt16(bigEndian: address.sin6_port)) : 0
    }
}

/// OpenSSL has read or written something, on the loop's thread; the context keeps the gauge.
private func recordPassed(
    _ isWritten: Int32, _: Int32, _ kind: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ ssl: OpaquePointer?,
    _: UnsafeMutableRawPointer?
) {
    guard isWritten == 0, kind == SSL3_RT_HEADER, count >= 5, let bytes, let ssl,
        let owner = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), RecordGauge.index)
    else { return }
    let header = bytes.assumingMemoryBound(to: UInt8.self)
    Unmanaged<RecordGauge>.fromOpaque(owner).takeUnretainedValue().received(Int(header[3]) << 8 | Int(header[4]))
}

/// An `SSL_CTX` goes.
private func releaseGauge(
    _: UnsafeMutableRawPointer?, _ owner: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CRYPTO_EX_DATA>?, _: Int32,
    _: Int, _: UnsafeMutableRawPointer?
) {
    guard let owner else { return }
    Unmanaged<RecordGauge>.fromOpaque(owner).release()
}
