// Bytes that come on a connection and are neither header fields nor content.

import Glibc

/// Counts what comes on connections while nothing of any transfer moves.
///
/// libcurl reads chunk extensions, and HTTP/2 frames that carry nothing, without a word and without a limit: a server
/// could keep a loop busy with them for ever. Connections on which something moves cost nothing here.
struct FramingWatch {
    /// A time in which nothing moved in the turns of a socket.
    struct Silence {
        /// When it began.
        let start: LoopInstant
        /// The bytes that have been read since.
        var byteCount: Int64 = 0
    }

    /// So much may be on its way for a stream of HTTP/2 that we end: the window that libcurl gives each one (RFC 9113
    /// §6.9), and what frames and TLS records add to it.
    private static let window: Int64 = 33 * 1024 * 1024

    /// By descriptor, how many bytes had been read of it in all when its silence began.
    private var silent: [Int32: (start: LoopInstant, read: Int64)] = [:]
    /// By the connection's local port, when something moved last of a transfer that is over; of no interest where
    /// nothing is silent.
    private var endings: [Int: LoopInstant] = [:]
    /// By the connection's local port, how many of its transfers we have ended since it was asked last whether that
    /// excuses something.
    private var cuts: [Int: Int64] = [:]
    /// By the connection's local port, how many bytes it may have received in all before it has to answer for them.
    private var excused: [Int: Int64] = [:]

    /// Notes that something moved in a turn in which this socket was ready.
    mutating func moved(_ descriptor: Int32) {
        guard !silent.isEmpty else { return }
        silent[descriptor] = nil
        if silent.isEmpty { endings.removeAll() }
    }

    /// Notes that nothing moved; gives the bytes that have come since something did.
    mutating func stoodStill(_ descriptor: Int32, at now: LoopInstant) -> Silence {
        let received = Self.receivedByteCount(of: descriptor)
        guard received >= 0 else { return Silence(start: now) }
        let read = received - Self.unreadByteCount(of: descriptor)
        // Fewer than before: the number is another socket's by now.
        guard let start = silent[descriptor], start.read <= read else {
            silent[descriptor] = (now, read)
            return Silence(start: now)
        }
        return Silence(start: start.start, byteCount: read - start.read)
    }

    /// Whether it has to be told of a transfer's end; of one that we ended, in any case.
    var hasSilence: Bool { !silent.isEmpty }

    /// Notes that a transfer of the connection with this local port is over.
    ///
    /// What is on its way for one that we ended will be nobody's.
    mutating func transferEnded(onPort port: Int, lastActivity: LoopInstant?, wasCut: Bool) {
        guard port > 0 else { return }
        if wasCut { cuts[port, default: 0] += 1 }
        if hasSilence, let lastActivity { endings[port] = max(endings[port] ?? 0, lastActivity) }
    }

    /// When something moved last of a transfer of this connection that is over, as far as that is of interest.
    func lastEnding(onPort port: Int) -> LoopInstant {
        endings[port] ?? 0
    }

    /// Whether what this connection receives that is nobody's can be what was on its way for transfers that we have
    /// ended.
    mutating func isExcused(_ descriptor: Int32) -> Bool {
        guard !cuts.isEmpty || !excused.isEmpty else { return false }
        let port = LocalPort.of(descriptor)
        let received = Self.receivedByteCount(of: descriptor)
        if let count = cuts.removeValue(forKey: port) {
            excused[port] = max(excused[port] ?? 0, received) + count * Self.window
        }
        return received < excused[port] ?? 0
    }

    /// Forgets what there is about a socket, which goes: its number, and its port, may be another's next.
    mutating func forget(_ descriptor: Int32) {
        moved(descriptor)
        guard !cuts.isEmpty || !excused.isEmpty || !endings.isEmpty else { return }
        let port = LocalPort.of(descriptor)
        endings[port] = nil
        cuts[port] = nil
        excused[port] = nil
    }

    /// How many bytes a TCP socket has received in all; -1 when the kernel does not say.
    static func receivedByteCount(of descriptor: Int32) -> Int64 {
        tcpCount(at: 128, of: descriptor) ?? -1
    }

    /// How many bytes were written to a TCP socket in all, on their way or not; `nil` when the kernel does not say.
    static func writtenByteCount(of descriptor: Int32) -> Int64? {
        var waiting: Int32 = 0
        guard let acknowledged = tcpCount(at: 120, of: descriptor), ioctl(descriptor, UInt(TIOCOUTQ), &waiting) == 0
        else { return nil }
        return acknowledged + Int64(waiting)
    }

    /// A count of the kernel's `tcp_info` (<linux/tcp.h>, since Linux 4.1), whose layout is fixed.
    ///
    /// The structure of <netinet/tcp.h> ends before these counts.
    private static func tcpCount(at offset: Int, of descriptor: Int32) -> Int64? {
        withUnsafeTemporaryAllocation(byteCount: offset + 8, alignment: 8) { bytes in
            var length = socklen_t(bytes.count)
            guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, bytes.baseAddress, &length) == 0,
                Int(length) == bytes.count
            else { return nil }
            return bytes.load(fromByteOffset: offset, as: Int64.self)
        }
    }

    /// How many bytes of a socket wait in the kernel to be read.
    private static func unreadByteCount(of descriptor: Int32) -> Int64 {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int64(count) : 0
    }
}
