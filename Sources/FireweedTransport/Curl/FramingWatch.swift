// Bytes that come on a connection and are neither header fields nor content.

import Glibc

/// Counts what comes on connections while nothing of any transfer moves.
///
/// libcurl reads chunk extensions, and HTTP/2 frames that carry nothing, without a word and without a limit: a server could
/// keep a loop busy with them for ever. Connections on which something moves cost nothing here.
struct FramingWatch {
    /// By descriptor, how many bytes it had received in all when its silence began.
    private var silent: [Int32: Int64] = [:]

    /// Notes that something moved in a turn in which this socket was ready.
    mutating func moved(_ descriptor: Int32) {
        if !silent.isEmpty { silent[descriptor] = nil }
    }

    /// Notes that nothing moved; gives the bytes that have come since something did.
    mutating func stoodStill(_ descriptor: Int32) -> Int64 {
        let received = Self.receivedByteCount(of: descriptor)
        guard received >= 0 else { return 0 }
        // Fewer than before: the number is another socket's by now.
        guard let start = silent[descriptor], start <= received else {
            silent[descriptor] = received
            return 0
        }
        return received - start
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
