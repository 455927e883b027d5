// The kernel's probes for peers that have vanished.

import Glibc

/// The TCP options by which the kernel notices that a peer has vanished.
enum KeepAlive {
    /// The seconds without a byte from the peer before the first probe: less than the time-out of most NAT routers.
    private static let idleSeconds: Int32 = 30
    private static let intervalSeconds: Int32 = 10
    /// The number of probes without an answer that end the connection.
    private static let probeCount: Int32 = 4
    /// The shortest time, in seconds, after which the kernel aborts a connection whose peer acknowledges nothing.
    private static let shortestUserTimeout: Double = 60
    /// The approximate time, in seconds, for which the kernel retransmits unacknowledged data (`tcp_retries2` in
    /// tcp(7)).
    static let kernelTimeout: Double = 920

    /// Enables the kernel's probes of a silent peer (tcp(7)); no effect on sockets that are not TCP.
    static func enable(on descriptor: Int32) {
        set(1, SO_KEEPALIVE, level: SOL_SOCKET, on: descriptor)
        set(idleSeconds, TCP_KEEPIDLE, on: descriptor)
        set(intervalSeconds, TCP_KEEPINTVL, on: descriptor)
        set(probeCount, TCP_KEEPCNT, on: descriptor)
        set(userTimeout: 0, on: descriptor)
    }

    /// Sets the seconds without an acknowledgement after which the kernel aborts the connection (RFC 5482), between a
    /// minute and a day.
    ///
    /// The time must not be shorter than a transfer's idle time-out: the kernel also counts the time in which a peer
    /// does not read.
    static func set(userTimeout: Double, on descriptor: Int32) {
        let seconds = min(max(userTimeout, shortestUserTimeout), 86_400)
        set(Int32(seconds * 1000), TCP_USER_TIMEOUT, on: descriptor)
    }

    private static func set(
        _ value: Int32, _ option: Int32, level: Int32 = Int32(IPPROTO_TCP), on descriptor: Int32
    ) {
        // A failure is ignored, since a socket that is not TCP needs none of the options.
        withUnsafePointer(to: value) { value in
            _ = setsockopt(descriptor, level, option, value, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}
