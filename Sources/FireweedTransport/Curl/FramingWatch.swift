// Bytes that come on a connection and are neither header fields nor content.

import Glibc

/// Counts what comes on connections while nothing of any transfer moves.
///
/// libcurl reads chunk extensions, and HTTP/2 frames that carry nothing, without a word and without a limit: a server could
/// keep a loop busy with them for ever. Connections on which something moves cost nothing here.
struct FramingWatch {
    /// A time in which nothing moved in the turns of a socket.
    struct Silence {
        /// When it began.
        let start: LoopInstant
        /// The bytes that have come since.
        var byteCount: Int64 = 0
    }

    /// So much may be on its way for a stream of HTTP/2 that we end: the window that libcurl gives each one (RFC 9113 §6.9).
    private static let window: Int64 = 32 * 1024 * 1024

    /// By descriptor, how many bytes it had received in all when its silence began.
    private var silent: [Int32: (start: LoopInstant, received: Int64)] = [:]
    /// By the connection's local port, how many bytes may still come that are nobody's.
    private var excused: [Int: Int64] = [:]

    /// Notes that something moved in a turn in which this socket was ready.
    mutating func moved(_ descriptor: Int32) {
        if !silent.isEmpty { silent[descriptor] = nil }
    }

    /// Notes that nothing moved; gives the bytes that have come since something did.
    mutating func stoodStill(_ descriptor: Int32, at now: LoopInstant) -> Silence {
        let received = Self.receivedByteCount(of: descriptor)
        guard received >= 0 else { return Silence(start: now) }
        // Fewer than before: the number is another socket's by now.
        guard let start = silent[descriptor], start.received <= received else {
            silent[descriptor] = (now, received)
            return Silence(start: now)
        }
        return Silence(start: start.start, byteCount: received - start.received)
    }

    /// Notes that we ended a transfer of the connection with this local port: what is on its way for it will be nobody's.
    mutating func transferWasCut(onPort port: Int) {
        if port != 0 { excused[port, default: 0] += Self.window }
    }

    /// Whether so many bytes that are nobody's are what a transfer that was cut has left; counts them as come.
    mutating func excuses(_ byteCount: Int64, onPort port: Int) -> Bool {
        guard let left = excused[port], left > 0 else { return false }
        excused[port] = left - byteCount
        return true
    }

    /// Forgets what there is about a socket, which goes: its number, and its port, may be another's next.
    mutating func forget(_ descriptor: Int32) {
        moved(descriptor)
        if !excused.isEmpty { excused[LocalPort.of(descriptor)] = nil }
    }

    /// How many bytes a TCP socket has received in all; -1 when the kernel does not say.
    static func receivedByteCount(of descriptor: Int32) -> Int64 {
        // `tcp_info` of <netinet/tcp.h> ends before that field. The kernel's (<linux/tcp.h>, since Linux 4.1) has it at this
        // offset, and its layout is fixed.
        let offset = 128
        return withUnsafeTemporaryAllocation(byteCount: offset + 8, alignment: 8) { bytes in
            var length = socklen_t(bytes.count)
            guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, bytes.baseAddress, &length) == 0,
                Int(length) == bytes.count
            else { return -1 }
            return bytes.load(fromByteOffset: offset, as: Int64.self)
        }
    }
}
