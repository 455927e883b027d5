// Takes connections out of the pool whose peer seems to have vanished.

import CCurl
import Glibc

extension ConnectionPool {
    /// So long must a transfer have stood still, in nanoseconds, when the time for the whole exchange ends it: a peer
    /// that is slow has not vanished.
    private static let suspiciousStillness: LoopInstant = 1_000_000_000

    /// Whether a transfer that times out says that its connection is dead: nothing came on the connection while the
    /// transfer waited.
    ///
    /// Over HTTP/2 the other streams of the connection may prove that the peer is there.
    func suspectsPeer(of transfer: Transfer) -> Bool {
        guard isWithEngine(transfer), let handle = transfer.handle, let queue = transfer.queue,
            let lastActivity = transfer.lastActivity,
            transfer.pauses.isDisjoint(with: [.suspended, .intakeFull])
        else { return false }
        let stillness = context.now - min(lastActivity, context.now)
        let idle = transfer.message.idleTimeout > 0 ? transfer.message.idleTimeout * 1e9 : .infinity
        guard Double(stillness) >= min(idle, Double(Self.suspiciousStillness)) else { return false }
        let port = handle.localPort
        guard let socket = sockets.open(of: queue.origin, port: port) else {
            return true  // the connection did not come about
        }
        // Both clocks are coarse.
        return LoopInstant(socket.silentMilliseconds) * 1_000_000 + 50_000_000 >= stillness
    }

    /// Closes the connections to an origin that carry nothing; the others carry no new transfer.
    ///
    /// To be called when the transfers that timed out have ended. `queue.renewConnections()` comes before that, since
    /// the end of a transfer begins the next one.
    func closeIdleConnections(of queue: OriginQueue) {
        closeIdle(among: sockets.open(of: queue.origin))
    }

    /// Shuts down the sockets that no transfer uses: libcurl, which has no call for it, then closes their connections.
    func closeIdle(among candidates: [OpenedSocket]) {
        var busyPorts: Set<Int> = []
        var connecting: Set<UInt> = []
        for transfer in running where isWithEngine(transfer) {
            guard let handle = transfer.handle else { continue }
            busyPorts.insert(handle.localPort)
            connecting.formUnion(handle.openedSockets.map(\.inode))
        }
        for socket in candidates
        where !connecting.contains(socket.inode) && !busyPorts.contains(socket.localPort) {
            shutdown(socket.descriptor, Shutdown.both)
        }
    }
}

extension OpenedSocket {
    fileprivate var localPort: Int { LocalPort.of(descriptor) }
}
