// The kernel's probes for peers that have vanished.

import Glibc

/// The TCP options by which the kernel notices that a peer has vanished.
enum KeepAlive {
    /// After so many seconds without a byte from the peer, the kernel asks it for an acknowledgement: often enough for
    /// the tables of most routers that translate addresses.
    private static let idleSeconds: Int32 = 30
    private static let intervalSeconds: Int32 = 10
    /// How many probes without an answer end the connection.
    private static let probeCount: Int32 = 4
    /// The shortest time, in seconds, after which the kernel aborts a connection whose peer acknowledges nothing.
    private static let shortestUserTimeout: Double = 60
    /// About how long, in seconds, the kernel sends unacknowledged data again (`tcp_retries2` of tcp(7)).
    static let kernelTimeout: Double = 920

    /// Lets the kernel ask a silent peer whether it is there (tcp(7)); without effect on sockets that are not TCP.
    static func enable(on descriptor: Int32) {
        set(1, SO_KEEPALIVE, level: SOL_SOCKET, on: descriptor)
        set(idleSeconds, TCP_KEEPIDLE, on: descriptor)
        set(intervalSeconds, TCP_KEEPINTVL, on: descriptor)
        set(probeCount, TCP_KEEPCNT, on: descriptor)
        set(userTimeout: 0, on: descriptor)
    }

    /// Sets after how many seconds without an acknowledgement the kernel gives up (RFC 5482), at least a minute; its
    /// own limit is a quarter of an hour.
    ///
    /// Not sooner than a transfer may stand still: a peer that does not read what is sent to it counts as silent here.
    static func set(userTimeout: Double, on descriptor: Int32) {
        let seconds = min(max(userTimeout, shortestUserTimeout), 86_400)
        set(Int32(seconds * 1000), TCP_USER_TIMEOUT, on: descriptor)
    }

    private static func set(
        _ value: Int32, _ option: Int32, level: Int32 = Int32(IPPROTO_TCP), on descriptor: Int32
    ) {
        // A refusal leaves the kernel's own time-out, which is right for what is not TCP.
        withUnsafePointer(to: value) { value in
            _ = setsockopt(descriptor, level, option, value, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}
