// Sending to a client that may have stopped reading.

import Glibc

extension LoopbackSocket {
    /// Sends bytes `count` times; whenever nothing can be sent for half a second, calls `stalled` with the total sent.
    ///
    /// Returns false when the connection ended before all bytes were sent.
    static func sendRepeatedly(
        _ bytes: [UInt8], count: Int, on descriptor: Int32, stalled: (_ byteCount: Int) -> Void
    ) -> Bool {
        var total = 0
        for _ in 0..<count {
            var offset = 0
            while offset < bytes.count {
                let sent = bytes[offset...].withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                }
                if sent > 0 {
                    offset += sent
                    total += sent
                } else if sent < 0, errno == EAGAIN {
                    var socket = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    guard poll(&socket, 1, 500) == 0 else { continue }
                    stalled(total)
                    poll(&socket, 1, -1)
                } else {
                    return false
                }
            }
        }
        return true
    }
}
