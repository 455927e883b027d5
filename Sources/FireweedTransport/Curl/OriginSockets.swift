// The sockets of a pool by origin, so that connections to a peer that vanished can be closed.

import Glibc

/// The sockets that libcurl has opened for the transfers of a pool.
///
/// libcurl keeps connections to itself. A connection leaves its pool when the connection's socket was shut down:
/// libcurl looks at an idle socket before it uses the connection again.
struct OriginSockets {
    private struct Entry {
        let socket: OpenedSocket
        let origin: String
    }

    private var entries: [Int32: Entry] = [:]
    /// The longest time-out of a transfer until now, in seconds.
    private var longestTimeout: Double = 0

    /// Takes in a new socket that was opened for a transfer to this origin.
    mutating func didOpen(_ socket: OpenedSocket, origin: String) {
        entries[socket.descriptor] = Entry(socket: socket, origin: origin)
        KeepAlive.set(userTimeout: longestTimeout, on: socket.descriptor)
    }

    /// Forgets a socket, which is about to be closed.
    mutating func willClose(_ descriptor: Int32) {
        entries[descriptor] = nil
    }

    /// The open sockets of an origin.
    ///
    /// libcurl 7.88 closes a socket without a word when no connection came about on it: the number may be another
    /// socket's by now.
    mutating func open(of origin: String) -> [OpenedSocket] {
        open { $0 == origin }
    }

    /// The open sockets of every origin.
    mutating func allOpen() -> [OpenedSocket] {
        open { _ in true }
    }

    private mutating func open(where isWanted: (_ origin: String) -> Bool) -> [OpenedSocket] {
        let found = entries.values.filter { isWanted($0.origin) }.map(\.socket)
        for socket in found where !socket.isOpen { entries[socket.descriptor] = nil }
        return found.filter(\.isOpen)
    }

    /// The open socket of an origin with this local port.
    mutating func open(of origin: String, port: Int) -> OpenedSocket? {
        port > 0 ? open(of: origin).first { LocalPort.of($0.descriptor) == port } : nil
    }

    /// Notes how long a transfer may stand still: the kernel never gives a connection up sooner than that.
    ///
    /// Without a time-out (zero), that is as long as the kernel's own patience.
    mutating func willServe(timeout: Double) {
        guard timeout > longestTimeout || timeout <= 0 else { return }
        let patience = timeout > 0 ? timeout : KeepAlive.kernelPatience
        guard patience > longestTimeout else { return }
        longestTimeout = patience
        for entry in entries.values where entry.socket.isOpen {
            KeepAlive.set(userTimeout: patience, on: entry.socket.descriptor)
        }
    }
}

extension OpenedSocket {
    /// Milliseconds since the peer sent data last, or since the connection was made; 0 where the kernel does not say.
    var silentMilliseconds: UInt32 {
        var facts = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &facts, &length) == 0 else { return 0 }
        return facts.tcpi_last_data_recv
    }
}
