// Forwarding of bytes between two sockets.

import Glibc

/// Forwards bytes between two connections, for proxies and relays.
enum SocketRelay {
    /// Forwards bytes in both directions until one side ends; bytes that arrive while `isFrozen` are dropped.
    static func run(_ client: Int32, _ server: Int32, isFrozen: () -> Bool = { false }) {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            var ready = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&ready, 2, -1) > 0 else { return }
            for (index, from) in [client, server].enumerated() where ready[index].revents != 0 {
                let count = recv(from, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                guard !isFrozen() else { continue }
                let target = index == 0 ? server : client
                guard send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
            }
        }
    }
}
