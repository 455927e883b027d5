// Bytes that come on a connection and are neither header fields nor content.

import CLinux

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
        let received = fw_tcp_received(descriptor)
        guard received >= 0 else { return 0 }
        // Fewer than before: the number is another socket's by now.
        guard let start = silent[descriptor], start <= received else {
            silent[descriptor] = received
            return 0
        }
        return received - start
    }
}
